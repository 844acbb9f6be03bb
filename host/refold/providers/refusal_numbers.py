"""The numbers that refusals carry: the limit, and how large the request was. Tokens throughout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import frozen

_MOST = 1_000_000_000  # beyond it a figure is no count of tokens
# Bounded, and never begun inside a longer number: an answer of nothing but digits must not cost quadratic time.
_N = r"(?<!\d)(\d[\d,]{0,15})"


def _patterns(*words: str) -> tuple[str, ...]:
    return tuple(each.replace("N", _N) for each in words)


_SUM = rf"{_N} \+ {_N} > {_N}"

_LIMITS = _patterns(
    r"maximum (?:context|prompt) length (?:is|of) N",
    r"maximum context length \(N\)",
    r"model maximum context length: N",
    r"tokens? > N maximum",
    r"maximum number of tokens allowed \(?N",
    r"configured limit of N",
    r'"n_ctx"\s*:\s*N',
    r"context size \(N tokens\)",
    r"n_ctx: ?N",
    r"exceeds? the limit of N",
    r"over the limit of N",
    r"token limit: N",
    r"with N maximum context length",
    r"context length \(N tokens\)",
    r"maximum allowed input length of N",
    r"context length (?:of|is) only N",
    r"range of input length should be \[1, ?N\]",
    r"while limit is N",
    r"must be <= ?N",
    r"must have less than N tokens",
    r"exceed model maximum \(N\)",
    r"configured context size is N",
    r"context limit is N",
    r"limit for this model is N",
    r"maximum model length of N",
    r"input tokens, limit is N",
    r"maximum input length is N",
    r"context window of N",
    r"(?:最大|上限|限制|不超过|不能超过|不得超过)\D{0,12}N",
)

_REQUESTED = _patterns(
    r"resulted in N tokens",
    r"requested a total of N tokens",
    r"you requested N tokens",
    r"prompt is too long: N",
    r"request (?:has|contains) N (?:input )?tokens",
    r"input token count \(N\)",
    r'"n_prompt_tokens"\s*:\s*N',
    r"request \(N tokens\)",
    r"prompt token count of N",
    r"requested: N\)",
    r"prompt (?:contains|has) N tokens",
    r"input \(N tokens\)",
    r"input length \(?N",
    r"prompt \(length N\)",
    r"current length is N",
    r"given: N",
    r"prompt tokens \(N\)",
    r"prompt=N",
    r"keep the first N tokens",
    r"n_keep: ?N",
    r"(?:too|prompt too) long: N (?:input )?tokens",
    r"(?:当前|实际|请求|输入)\D{0,10}N ?(?:tokens?)?[^\d]{0,4}(?:超|大于)",
)

_FLOORS = _patterns(
    r"contains at least N input tokens",
    r"for a total of at least N tokens",
    r"you requested about N tokens",
)

_OUTPUT = _patterns(
    r"N in (?:the )?(?:completion|output)",
    r"and N completion",
    r"requested N output tokens",
)

_CAPS = _patterns(
    r"at most N",
    r"tokens?`?: N > N",
    r"\[1, ?N\]",
    r"less than or equal to `?N",
    r"must be (?:≤|<=|at most) ?N",
    r"maximum (?:value|of|is) ?N",
    r"(?:最大值?|上限|不能?(?:超过|大于))\D{0,6}N",
)
_FIRST_REFUSED = _patterns(
    r"\(inclusive\) to N \(exclusive\)",
    r"must be less than ?N",
)

_RATES = rf"limit:? {_N}\D{{1,40}}requested:? {_N}"


@frozen
class Numbers:
    """What a refusal says of sizes. `output` is the part of `requested` that was kept for the answer."""

    limit: int | None = None
    requested: int | None = None
    floor: bool = False
    output: int | None = None


def of_window(text: str) -> Numbers:
    """The numbers of a request that was too large.

    Texts that name two different limits give none: it is better to know nothing than the wrong one.

    >>> of_window("prompt is too long: 210000 tokens > 200000 maximum")
    Numbers(limit=200000, requested=210000, floor=False, output=None)
    """
    if found := re.search(_SUM, text):
        prompt, output, limit = (_number(each) for each in found.groups())
        if prompt and output and limit:
            return Numbers(limit, prompt + output, output=output)
    limits = set(_all(_LIMITS, text))
    limit = limits.pop() if len(limits) == 1 else None
    output = next(_all(_OUTPUT, text), None)
    requested = next(_all(_REQUESTED, text), None)
    if requested is not None:
        return Numbers(limit, requested, output=output)
    floor = next(_all(_FLOORS, text), None)
    return Numbers(limit, floor, floor is not None, output)


def of_rate(text: str) -> Numbers:
    """The numbers of a rate limit in tokens: what the account may use at once, and what was asked."""
    found = re.search(_RATES, text, re.IGNORECASE)
    return Numbers(_number(found[1]), _number(found[2])) if found else Numbers()


def of_output_cap(text: str) -> Numbers:
    """The most output that the model gives, when the refusal says so."""
    for pattern in _CAPS:
        if found := re.search(pattern, text, re.IGNORECASE):
            return Numbers(_number(found[found.lastindex or 1]))
    for pattern in _FIRST_REFUSED:
        if (found := re.search(pattern, text, re.IGNORECASE)) and (refused := _number(found[1])):
            return Numbers(refused - 1 or None)
    return Numbers()


def _all(patterns: Iterable[str], text: str) -> Iterator[int]:
    for pattern in patterns:
        for found in re.finditer(pattern, text, re.IGNORECASE):
            if value := _number(found[1]):
                yield value


def _number(digits: str) -> int | None:
    value = int(digits.replace(",", "")) if len(digits) <= 16 else 0
    return value if 0 < value <= _MOST else None
