"""Which replies are summaries. Pure rules; a refusal has a reason for programs and words for people."""

from __future__ import annotations

import re
from typing import Literal

from refold.sizing.estimate import tokens
from refold.summarize.lazy import Lazy
from refold.summarize.reply import Reply
from refold.values.errors import SummaryRejected

Reason = Literal[
    "nothing",
    "empty",
    "reasoning",
    "tool_call",
    "cut_off",
    "refused",
    "error_text",
    "too_long",
    "not_smaller",
    "hollow",
]

WORDS: dict[Reason, str] = {
    "nothing": "there is nothing to summarize",
    "empty": "the reply is empty",
    "reasoning": "the reply holds only reasoning",
    "tool_call": "the reply calls a tool",
    "cut_off": "the reply was cut off by the output limit",
    "refused": "the model refused",
    "error_text": "the reply is an error message",
    "too_long": "the summary is over its limit",
    "not_smaller": "the summary is not smaller than what it replaces",
    "hollow": "the reply tells nothing of what it should replace",
}

SHORT = 400
"""Characters up to which a text that reads like an error or a refusal is taken for one."""

_THOUGHT = Lazy(r"\A\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_CALL = Lazy(
    r"\A\s*(?:<(?:tool_call|function_calls?|tool_use|invoke)\b|```(?:tool_call|tool_code)\b|\[TOOL_CALLS?\]"
    r"|\{\s*\"(?:name|tool|function|tool_calls|recipient_name)\"\s*:.{0,200}\"(?:arguments|parameters|input"
    r"|args|type|function)\"\s*:)",
    re.DOTALL,
)
_ERROR = Lazy(
    r"\A\W*(?:\{\s*\"(?:error\b|type\"\s*:\s*\"error)"
    r"|(?:api|internal|server|http|request|provider|upstream|network|connection|the)? ?(?:server )?error(?: code)?"
    r"(?:\s*[:({\d]|\W*\Z)"
    r"|(?:bad|invalid) (?:request|gateway|api key)|too many requests|service (?:is )?(?:temporarily )?unavailable"
    r"|(?:rate|usage|quota|context|token)s?[ _-](?:limit|length|quota)s?[ _](?:\w+ )?(?:exceeded|reached|hit|error)"
    r"|(?:model |server )?(?:is )?(?:currently )?overloaded|unauthori[sz]ed\W*\Z|(?:request )?timed? ?out\W*\Z"
    r"|insufficient[ _]quota"
    r"|[45]\d\d[: ](?:bad|internal|service|too many|gateway|unauthori|forbidden|not found|error|server|proxy)"
    r"|(?:i['’]?m |i am )?(?:very )?sorry\b|i (?:can(?:no|['’])t|am unable|won['’]t|must decline)"
    r"|i['’]m (?:unable|not able)|as an ai\b)",
    re.IGNORECASE,
)
_PAGE = Lazy(r"\A\s*<(?:!doctype\s+html|html)\b[^>]*>\s*<(?:html|head|body)\b", re.IGNORECASE)


class Unacceptable(SummaryRejected):
    """A text came and was refused. `size` is its tokens where that is the reason, and `source` the tokens it had to
    stay below: of what it replaces, or its limit."""

    def __init__(self, reason: Reason, *, by: str = "", size: int | None = None, source: int | None = None) -> None:
        figures = ""
        if size is not None and source is not None:
            figures = f" ({size} tokens, {'limit' if reason == 'too_long' else 'not below'} {source})"
        who = f"{by}: " if by else ""
        super().__init__(f"{who}{WORDS[reason]}{figures}; the history stays as it was", reason, size, source)


def spoken(text: str) -> str:
    """The reply without reasoning that a model put into its text."""
    return _THOUGHT.sub("", text, count=1).strip()


def refusal(reply: Reply) -> Reason | None:
    """Why the reply is no summary; None: it may be one."""
    if reply.stop == "tool":
        return "tool_call"
    if reply.stop == "refusal":
        return "refused"
    text = spoken(reply.text)
    if not text:
        if reply.stop == "length":
            return "cut_off"
        return "reasoning" if reply.reasoned or reply.text.strip() else "empty"
    if _CALL.match(text):
        return "tool_call"
    if reply.stop == "length":
        return "cut_off"
    if _PAGE.match(text) or (len(text) <= SHORT and _ERROR.match(text)):
        return "error_text"
    return None


def oversize(text: str, limit: int, source: int) -> Reason | None:
    """Why a finished summary of `source` tokens is too large; None: it is not."""
    size = tokens(text)
    if size >= source:
        return "not_smaller"
    return "too_long" if size > limit else None
