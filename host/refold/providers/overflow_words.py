"""How servers say in other languages than English that a request does not fit, and what they say of rates and quotas.

Vendors and their gateways translate: GLM says `Prompt 超长`. What fills a window is named by a noun (context, prompt,
input, a count of tokens) beside a verb (exceeds, is too long). A rate is a limit too, so it is told apart first.
"""

from __future__ import annotations

_NOUN = r"(?:上下文|提示词|提示詞|提示语|输入|輸入|prompt|对话历史|對話歷史|历史消息|消息内容|文本)"
_VERB = r"(?:超长|超長|过长|過長|太长|太長|超限|超出|超过|超過|溢出|达到上限|達到上限)"
_COUNT = r"(?:tokens? ?(?:数量?|數量?|总数|總數|长度|長度|数目|上限)?|字数|字數)"
_CONTEXT = r"(?:contexte|contexto|contesto|kontext(?:fensters?|länge|größe)?)"
_EXCEEDS = r"(?:dépass|excéd|exced|supera|superó|ultrapass|überschr)"
_TOO_LONG = r"(?:trop long|demasiado larg|muito long|troppo lung|zu (?:lang|groß))"

TOO_LARGE = "|".join(
    (
        # Chinese, both scripts
        rf"{_NOUN}.{{0,16}}{_VERB}",
        rf"{_COUNT}.{{0,12}}{_VERB}",
        rf"{_VERB}.{{0,20}}(?:上下文|模型.{{0,6}}长度|{_COUNT})",
        r"(?:总|總|请求|請求)?(?:长度|長度)超限",
        r"(?:压缩|壓縮|精简|缩短)(?:上下文|输入|提示词|对话)",
        # Japanese
        r"(?:コンテキスト|プロンプト|入力|トークン数?).{0,24}(?:超え|超過|オーバー|長すぎ|大きすぎ)",
        r"(?:最大|上限).{0,8}(?:コンテキスト|トークン).{0,16}(?:超え|超過)",
        # Korean
        r"(?:컨텍스트|문맥|프롬프트|입력|토큰 ?수?).{0,24}(?:초과|넘|너무 (?:길|깁|큽|많))",
        # Russian
        r"(?:контекст\w*|промпт\w*|запрос\w*|сообщени\w*).{0,24}слишком (?:длин|больш)\w*",
        r"слишком (?:длин|больш)\w+ (?:контекст|промпт|запрос|текст)",
        r"превы\w+.{0,40}(?:контекст\w*|длин\w+ (?:запроса|промпта|входн)|(?:числ|количеств)\w+ (?:входных )?токенов)",
        r"(?:контекст\w*|токенов).{0,40}превы\w+",
        # French, Spanish, Portuguese, German, Italian
        rf"{_CONTEXT}\b.{{0,40}}(?:{_EXCEEDS}|{_TOO_LONG})",
        rf"{_EXCEEDS}\w*.{{0,40}}\b{_CONTEXT}",
        rf"\b(?:invite|requête|prompt|entrada|eingabe|anfrage|input)\b.{{0,20}}{_TOO_LONG}",
    )
)

OUTPUT_CAP = r"max_?\w*tokens.{0,24}(?:超|范围|範圍|最大|不能|大于|取值)|输出(?:长度|tokens?)?.{0,12}超"

RATE = (
    r"频率|頻率|速率|限流|并发|並發|每分钟|每分鐘|每秒|每小时|每小時|每日|次数|次數|请求过多|請求過多|请求过于频繁|操作频繁"
    r"|レート|リクエスト(?:数|が多)|しばらく|1分あたり|요청 ?(?:횟수|한도|빈도)|분당|잠시 후"
    r"|слишком (?:много|часто)|лимит\w* запросов|в минуту"
)

QUOTA = (
    r"余额|餘額|欠费|欠費|额度|額度|配额|配額|充值"
    r"|クォータ|残高|할당량|잔액|크레딧|недостаточно средств|баланс|квот"
)
