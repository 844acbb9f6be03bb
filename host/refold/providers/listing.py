"""What a provider lists of its models: ids, windows, limits, kinds of input. Every server has fields of its own.

| Server | window | output | inputs |
| --- | --- | --- | --- |
| Anthropic | `max_input_tokens` | `max_tokens` | `capabilities.image_input.supported` |
| Gemini | `inputTokenLimit` | `outputTokenLimit` | |
| OpenRouter | `context_length`, of `top_provider` first | `top_provider.max_completion_tokens` | as llama.cpp |
| vLLM, SGLang | `max_model_len` | | |
| llama.cpp | `meta.n_ctx` (of one slot) | | `architecture.input_modalities` |
| LM Studio | `loaded_context_length` | | `type` |
| Ollama | `context_length` of a loaded model | | |
| Groq | `context_window` | `max_completion_tokens` | |
| Mistral | `max_context_length` | | `capabilities.vision` |
| Copilot | `capabilities.limits.max_prompt_tokens` | `max_output_tokens` there | `capabilities.supports.vision` |
| Together, Fireworks, Kimi | `context_length` | | |

OpenAI's own listing has ids alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from refold.providers.decoding import count, mapping, objects, text

MOST = 5_000
"""Models that are read of one listing."""


@frozen
class Listed:
    """A model as its provider lists it. Sizes are tokens; None: the listing does not say."""

    id: str
    window: int | None = None
    max_output: int | None = None
    inputs: frozenset[str] | None = None
    max_images: int | None = None


def read_listing(body: Mapping[str, Any]) -> tuple[Listed, ...]:
    """The models of a listing, by id; an entry without an id is left out.

    >>> read_listing({"data": [{"id": "small", "max_model_len": 8192}]})
    (Listed(id='small', window=8192, max_output=None, inputs=None, max_images=None),)
    """
    entries = objects(body.get("data")) or objects(body.get("models"))
    found = {listed.id: listed for listed in map(_listed, entries[:MOST]) if listed.id}
    return tuple(found[id] for id in sorted(found))


def merged(first: Sequence[Listed], second: Sequence[Listed]) -> tuple[Listed, ...]:
    """One listing of two of one server: what `second` knows goes before what `first` does."""
    known = {listed.id: listed for listed in first}
    for listed in second:
        before = known.get(listed.id, listed)
        known[listed.id] = Listed(
            listed.id,
            listed.window or before.window,
            listed.max_output or before.max_output,
            listed.inputs or before.inputs,
            listed.max_images or before.max_images,
        )
    return tuple(known[id] for id in sorted(known))


def _listed(entry: Mapping[str, Any]) -> Listed:
    id = text(entry.get("id")) or text(entry.get("slug")) or text(entry.get("name")) or text(entry.get("model"))
    limits = mapping(mapping(entry.get("capabilities")).get("limits"))
    top = mapping(entry.get("top_provider"))
    windows = (
        limits.get("max_prompt_tokens"),
        limits.get("max_context_window_tokens"),
        entry.get("loaded_context_length"),
        mapping(entry.get("meta")).get("n_ctx"),
        entry.get("max_model_len"),
        entry.get("max_input_tokens"),
        entry.get("inputTokenLimit"),
        top.get("context_length"),
        entry.get("context_length"),
        entry.get("context_window"),
    )
    # LM Studio's maximum is what the model could hold, not what is loaded.
    window = _first(windows) or (None if "state" in entry else _first((entry.get("max_context_length"),)))
    output = _first(
        (
            limits.get("max_output_tokens"),
            entry.get("outputTokenLimit"),
            top.get("max_completion_tokens"),
            entry.get("max_completion_tokens"),
            entry.get("max_tokens"),
        )
    )
    images = count(mapping(limits.get("vision")).get("max_prompt_images"))
    return Listed(id.removeprefix("models/"), window, output, _inputs(entry), images or None)


def _first(values: Sequence[Any]) -> int | None:
    return next((number for number in map(count, values) if number), None)


def _inputs(entry: Mapping[str, Any]) -> frozenset[str] | None:
    named = mapping(entry.get("architecture")).get("input_modalities") or entry.get("input_modalities")
    if isinstance(named, list) and named:
        return frozenset(text(each) for each in named) & {"text", "image"} or None
    capabilities = mapping(entry.get("capabilities"))
    sees = (
        mapping(capabilities.get("image_input")).get("supported"),
        capabilities.get("vision"),
        mapping(capabilities.get("supports")).get("vision"),
        {"vlm": True, "llm": False}.get(text(entry.get("type"))),
    )
    known = next((each for each in sees if isinstance(each, bool)), None)
    if known is None:
        return None
    return frozenset({"text", "image"}) if known else frozenset({"text"})
