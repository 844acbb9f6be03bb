"""What a provider's refusal means: a pure function from what it said to what may be done about it.

Providers share no code for "too large", and several use its words for rate limits, byte limits and output limits. So
the order of the rules matters: a typed code first, then what would be mistaken for a full window, then its wordings,
then the status alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from attrs import frozen

from refold.providers import error_body, overflow_words, refusal_numbers
from refold.providers.refusal_numbers import Numbers

RefusalKind = Literal[
    "too_large",
    "too_many_bytes",
    "output_cap",
    "opaque_item",
    "rate",
    "overloaded",
    "auth",
    "quota",
    "not_found",
    "malformed",
    "other",
]

WORDS = 300
"""Characters of the provider's own words that are kept."""


@frozen
class Refusal:
    """Why a provider did not answer.

    `limit` and `requested` are tokens as the provider gave them; None: it did not say. `requested` includes
    `requested_output`, the tokens kept for the answer. `requested_is_floor`: the request is at least, or about, that
    large, so it teaches nothing about our own estimate. `retry_after` is seconds. `words` are the provider's own, on
    one line, at most WORDS characters.

    `limit` belongs to the kind: the window for `too_large`, the most output for `output_cap`, the tokens the account
    may use at once for `rate`.
    """

    kind: RefusalKind
    limit: int | None = None
    requested: int | None = None
    requested_is_floor: bool = False
    words: str = ""
    retry_after: float | None = None
    requested_output: int | None = None
    blank: bool = False

    @property
    def transient(self) -> bool:
        """Whether the same request may be answered later. A request above the whole rate never is."""
        if self.kind == "rate":
            return not (self.limit and self.requested and self.requested > self.limit)
        return self.kind == "overloaded"


_TYPED = frozenset(
    {
        "context_length_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "context_window_exceeded",
        "1261",
    }
)

_CODES: dict[str, RefusalKind] = {
    "insufficient_quota": "quota",
    "usage_limit_reached": "quota",
    "usage_not_included": "quota",
    "billing_error": "quota",
    "rate_limit_exceeded": "rate",
    "rate_limit_error": "rate",
    "resource_exhausted": "rate",
    "throttlingexception": "rate",
    "overloaded_error": "overloaded",
    "server_error": "overloaded",
    "api_error": "overloaded",
    "unavailable": "overloaded",
    "internal": "overloaded",
    "internal_server_error": "overloaded",
    "timeout_error": "overloaded",
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "invalid_request_error": "malformed",
    "invalid_argument": "malformed",
    "invalid_prompt": "malformed",
    "validationexception": "malformed",
}
"""What a typed code means where no status does: inside an answer that had begun. The first that is there counts."""

_SPEAKS_OF_SIZE = frozenset({0, 200, 400, 404, 413, 422})

# Reasoning that goes back, and that the provider does not take as what it gave out.
_OPAQUE_ITEM = (
    r"bound to a different conversation"
    r"|invalid\W{1,6}signature\W{1,6}in\W{1,6}thinking"
    r"|thinking\W{1,10}blocks in the latest assistant message cannot be modified"
    r"|each thinking block must contain thinking"
    r"|invalid_encrypted_content|encrypted content .{0,80}could not be (?:verified|decrypted)"
    r"|of type .?reasoning.? was provided without its required following item"
    r"|(?:corrupted|invalid) thought.?signature|thought.?signature is (?:not valid|invalid)"
)

_QUOTA = (
    r"insufficient.?(?:quota|balance|credit)|exceeded your current quota|billing|credit balance|usage_limit_reached"
    r"|usage_not_included|extra usage is required|payment required"
)
_RATE = (
    r"rate.?limit|per[ -]?(?:minute|min|day|hour)\b|\b[tr]p[md]\b|too many requests|throttl|quota|please wait"
    r"|in the last minute"
)
_ONE_VALUE = r"(?:string|array)_above_max_length|string too long|array too long"
_BYTES = (
    r"maximum allowed number of bytes|(?:request )?entity too large|payload size exceeds|payload too large"
    r"|\d bytes > \d|exceeds? (?:the maximum (?:allowed )?size|\d+ ?MB)|maximum request size"
)
_TOO_LARGE = "|".join(
    (
        r"context_length_exceeded",
        r"exceed_context_size_error",
        r"contextwindowexceeded",
        r"maximum context length",
        r"maximum prompt length",
        r"maximum input length is \d",
        r"exceed(?:s|ed)? the (?:available |model's )?(?:maximum )?context (?:size|window|length)",
        r"exceed(?:s|ed)? (?:the )?max(?:imum)? context",
        r"context window (?:limit )?exceed",
        r"context size has been exceeded",
        r"exceed context limit",
        r"context limit is \d",
        r"longer than the (?:model's context length|maximum model length|context length)",
        r"prompt (?:is |tokens )?too long",
        r"exceed(?:s|ed)? max (?:message|input|prompt) tokens",
        r"prompt exceeds max",
        r"input is too long",
        r"input too long",
        r"request too long: [\d,]+ input tokens",
        r"input tokens exceed the configured limit",
        r"input tokens over the limit",
        r"exceeds the maximum number of tokens allowed",
        r"exceeded model token limit",
        r"prompt token count of [\d,]+ exceeds",
        r"prompt tokens \([\d,]+\) exceed",
        r"larger context length",
        r"keep (?:from the initial prompt|the first [\d,]+ tokens)",
        r"context length (?:of|is) only \d",
        r"reduce the length of (?:the|your) (?:messages|prompt|input)",
        r"too large for model with [\d,]+ maximum context",
        r"current length is [\d,]+ while limit is",
        r"range of input length should be",
        r"number of tokens in the prompt exceeds",
        r"size limit exceeded by [\d,]+ tokens",
        r"`inputs` (?:tokens \+|must have less than)",
        r"configured context size",
        r"input length \(?[\d,]+\)? exceeds",
        r"input length .{0,40}exceeds .{0,40}context length",
    )
)
_MANY_TOKENS = r"too many tokens"
_OUT_OF_ROOM = r"context size has been exceeded"
_OUTPUT_CAP = (
    r"(?:max_(?:completion_|output_|new_)?tokens|maxOutputTokens)\W.{0,80}?"
    r"(?:too large|must be|valid range|supported range|maximum|> ?\d|at most|less than)"
    r"|range of max\w*tokens is"
    r"|supports? at most [\d,]+ (?:completion|output) tokens"
)
# A server's own trouble with what was sent, told as a failure of the server: asking again changes nothing.
_TEMPLATE = r"image input is not supported|jinja|chat.template|roles must alternate|system message must be"
_SECONDS = r"(?:try again in|retry(?:delay|_after)\"?:?|retry in) ?\"?([\d.]+) ?(ms|s\b|seconds?)"


def classify(
    status: int, code: str, text: str, headers: Mapping[str, str], hide: Callable[[str], str] = str
) -> Refusal:
    """What a refusal means.

    `status` is 0 or 200 for an error inside an answer that had begun; `code` is its typed code if it stood apart from
    `text`, the body as it came (JSON or plain); `headers` have lower-case names; `hide` takes out of the provider's
    words what must not be shown.

    >>> refusal = classify(400, "", "prompt is too long: 210000 tokens > 200000 maximum", {})
    >>> refusal.kind, refusal.limit, refusal.requested
    ('too_large', 200000, 210000)
    """
    body = error_body.read(text)
    codes = body.codes | ({code.lower()} if code else set())
    kind = _kind(status, codes, body.text)
    numbers = Numbers()
    if kind == "too_large":
        numbers = refusal_numbers.of_window(body.text)
    elif kind == "rate":
        numbers = refusal_numbers.of_rate(body.text)
    elif kind == "output_cap":
        numbers = refusal_numbers.of_output_cap(body.text)
    words = one_line(hide(body.words)) or one_line(hide(code))
    return Refusal(
        kind,
        numbers.limit,
        numbers.requested,
        numbers.floor,
        words,
        _retry_after(headers, body.text) if kind in ("rate", "overloaded") else None,
        numbers.output,
        not text.strip(),
    )


LEAST_SUSPECTED = 4_096
"""Tokens: a smaller request fits everywhere, unless the window is known to be smaller still."""


def may_be_too_large(refusal: Refusal, estimate: int, window: int | None, answered: int | None = None) -> bool:
    """Whether a refusal without a word (some servers answer a full window with an empty body) is about the size.

    The figures are those of `may_fill`.
    """
    silent = refusal.blank and refusal.kind in ("malformed", "too_many_bytes")
    return silent and may_fill(estimate, window, answered)


def may_fill(estimate: int, window: int | None, answered: int | None = None) -> bool:
    """Whether a request may fill what the server has room for, where nobody says so.

    `estimate` is our own of the request, `window` the one in force, `answered` the largest request that this model
    answered in the session, as estimated (0: none; None: nobody looked), all in tokens. One near the window may, and
    one that is no small one and larger than any that was answered: the window may be smaller than somebody said.
    """
    if window is not None and estimate * 100 >= window * 80:
        return True
    return answered is not None and estimate > max(answered, LEAST_SUSPECTED)


def one_line(text: str, limit: int = WORDS) -> str:
    """Text of a provider as one bounded line of printable characters."""
    line = " ".join(text[: limit * 8].split())
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _says(words: str, text: str) -> re.Match[str] | None:
    """Patterns are compiled when the first refusal comes: most programs never see one."""
    return re.search(words, text, re.IGNORECASE | re.DOTALL)


def _kind(status: int, codes: frozenset[str] | set[str], text: str) -> RefusalKind:
    if codes & _TYPED:
        return "too_large"
    if status == 429:
        waits = _says(_SECONDS, text)
        return "quota" if _says(_QUOTA, text) and not waits else "rate"
    if status in _SPEAKS_OF_SIZE:
        if (found := _by_words(status, text)) is not None:
            return found
        if status in (0, 200):
            return next((kind for typed, kind in _CODES.items() if typed in codes), "other")
    if status >= 500:
        if _says(_OUT_OF_ROOM, text):
            return "too_large"
        return "malformed" if _says(_TEMPLATE, text) else "overloaded"
    return _by_status(status, text)


def _by_words(status: int, text: str) -> RefusalKind | None:
    if _says(_OPAQUE_ITEM, text):
        return "opaque_item"
    if _says(_RATE, text):
        return "quota" if _says(_QUOTA, text) else "rate"
    if (found := _abroad(text)) is not None:
        return found
    if _says(_ONE_VALUE, text):
        return "malformed"
    if _says(_BYTES, text):
        return "too_many_bytes"
    if _says(_TOO_LARGE, text) or (status in (400, 422) and _says(_MANY_TOKENS, text)):
        return "too_large"
    if _says(_OUTPUT_CAP, text):
        return "output_cap"
    return None


def _abroad(text: str) -> RefusalKind | None:
    """What words of other languages say."""
    if _says(overflow_words.QUOTA, text):
        return "quota"
    if _says(overflow_words.RATE, text):
        return "rate"
    if _says(overflow_words.OUTPUT_CAP, text):
        return "output_cap"
    return "too_large" if _says(overflow_words.TOO_LARGE, text) else None


def _by_status(status: int, text: str) -> RefusalKind:
    match status:
        case 401:
            return "auth"
        case 402:
            return "quota"
        case 403:
            return "quota" if _says(_QUOTA, text) else "rate" if _says(_RATE, text) else "auth"
        case 404:
            return "not_found"
        case 408 | 425:
            return "overloaded"
        case 413:
            return "too_many_bytes"
        case 400 | 422:
            return "quota" if _says(_QUOTA, text) else "malformed"
        case _:
            return "other"


def _retry_after(headers: Mapping[str, str], text: str) -> float | None:
    """Seconds, from a header or the words. A date is taken from the same answer's own clock."""
    from email.utils import parsedate_to_datetime

    try:
        if (value := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(value) / 1000)
        if (value := headers.get("retry-after")) is not None:
            if value.strip().replace(".", "", 1).isdigit():
                return float(value)
            at, now = parsedate_to_datetime(value), parsedate_to_datetime(headers.get("date", ""))
            return max(0.0, (at - now).total_seconds())
    except (ValueError, TypeError):
        pass
    if found := _says(_SECONDS, text):
        try:
            return float(found[1]) / (1000 if found[2].lower() == "ms" else 1)
        except ValueError:
            return None
    return None
