"""Which tokenizer family a model belongs to, by its id: a factor for text and a formula for pictures.

The estimator's raw figures are on the scale of OpenAI's o200k vocabulary; a factor is the fitted ratio to it, rounded
up for safety (Gemini has no offline tokenizer, so its factor is an assumption). The errors are in docs/sizes.md. An id
is looked at as a person would: provider prefixes, dates and suffixes around the name do not matter, and a name nobody
knows gets a factor that errs on the large side.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from attrs import frozen

from refold.sizing import images
from refold.sizing.images import Formula


@frozen
class Family:
    """How a model counts. `text_percent` scales raw tokens; `image` gives tokens by pixels, never scaled."""

    name: str
    text_percent: int
    image: Formula


UNKNOWN = Family("unknown", 125, images.CLAUDE_STANDARD)

_TEXT_PERCENT = {
    "claude-legacy": 130,
    "claude": 160,
    "openai": 105,
    "qwen": 120,
    "deepseek": 110,
    "mistral": 120,
    "gemini": 115,
}

_tiles = images.openai_tiles
_patches = images.openai_patches

# The first pattern found in the id decides; the last one of each family is found in every id.
_IMAGES: dict[str, tuple[tuple[str, Formula], ...]] = {
    "openai": (
        (r"gpt-?4o-mini", partial(_tiles, base=2833, tile=5667)),
        (r"gpt-?4\.1-mini", partial(_patches, edge=2048, budget=1536, percent=162)),
        (r"gpt-?4\.1-nano", partial(_patches, edge=2048, budget=1536, percent=246)),
        (r"o4-mini", partial(_patches, edge=2048, budget=1536, percent=172)),
        (r"o[13](?![0-9])", partial(_tiles, base=75, tile=150)),
        (r"computer-use", partial(_tiles, base=65, tile=129)),
        (r"gpt-?5(?:\.\d+)?-nano", partial(_patches, edge=2048, budget=1536, percent=246)),
        (r"gpt-?5(?:\.\d+)?-mini", partial(_patches, edge=2048, budget=1536, percent=162)),
        (r"gpt-?5\.[23]", partial(_patches, edge=2048, budget=1536, percent=120)),
        (r"gpt-?5\.4", partial(_patches, edge=2048, budget=2500, percent=120)),
        (r"gpt-?5\.5", partial(_patches, edge=6000, budget=10_000, percent=120)),
        (r"gpt-?(?:5\.[6-9]|[6-9])", partial(_patches, edge=1 << 30, budget=30_000, percent=120)),
        (r"gpt-?5", partial(_tiles, base=70, tile=140)),
        (r"", partial(_tiles, base=85, tile=170)),
    ),
    "claude": ((r"", images.CLAUDE_HIGH),),
    "claude-legacy": ((r"", images.CLAUDE_STANDARD),),
    "gemini": ((r"gemini-[12](?!\d)", images.gemini_tiles), (r"", images.gemini_flat)),
    "qwen": ((r"qwen-?2|qwen-vl", partial(images.qwen, cell=28)), (r"", partial(images.qwen, cell=32))),
    "mistral": (
        (r"pixtral", partial(images.mistral, edge=1024, cell=16)),
        (r"", partial(images.mistral, edge=1540, cell=28)),
    ),
    "deepseek": ((r"", UNKNOWN.image),),
}

_NAMES: tuple[tuple[str, str], ...] = (
    (r"gemini|gemma", "gemini"),
    (r"deepseek", "deepseek"),
    (r"qwen|qwq", "qwen"),
    (r"mistral|mixtral|ministral|magistral|devstral|codestral|pixtral", "mistral"),
    (r"gpt|codex|computer-use|(?<![a-z0-9])o[1-9](?![0-9a-z])", "openai"),
)

_CLAUDE_VERSION = re.compile(r"claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


@lru_cache(maxsize=256)
def family(model: str) -> Family:
    """The family of a model id.

    >>> family("anthropic/claude-opus-4.8").name, family("claude-sonnet-4-20250514").name
    ('claude', 'claude-legacy')
    """
    lowered = model.lower()
    name = _name(lowered)
    if name == UNKNOWN.name:
        return UNKNOWN
    image = next(formula for pattern, formula in _IMAGES[name] if re.search(pattern, lowered))
    return Family(name, _TEXT_PERCENT[name], image)


def _name(model: str) -> str:
    if "claude" in model:
        return _claude(model)
    return next((name for pattern, name in _NAMES if re.search(pattern, model)), UNKNOWN.name)


def _claude(model: str) -> str:
    """The vocabulary changed with 4.7. A Claude without a version counts as a new one, which is the denser."""
    found = _CLAUDE_VERSION.search(model)
    if found is None:
        return "claude"
    version = int(found[1]), int(found[2] or 0)
    return "claude" if version >= (4, 7) else "claude-legacy"
