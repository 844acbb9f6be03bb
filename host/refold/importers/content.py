"""What a message says, in the forms that providers and libraries have for it: texts, pictures, and other parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from refold.importers.lines import as_map, as_text, as_word, json_text
from refold.importers.steps import picture, picture_from_url
from refold.values.rows import Image

_TEXTS = {"", "text", "input_text", "output_text", "refusal", "plain_text", "text-plain"}
_PICTURES = {"image", "image_url", "input_image", "output_image", "image-url", "binary", "computer_screenshot", "file"}


@frozen
class Content:
    """The words and pictures of a message. `kept` are parts, as JSON, that no row has a place for."""

    text: str
    images: tuple[Image, ...] = ()
    kept: tuple[str, ...] = ()


def read_content(content: Any) -> Content:
    """A text, a part, or a list of either; nothing is an empty text."""
    texts: list[str] = []
    images: list[Image] = []
    kept: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            texts.append(as_text(part))
            continue
        kind = as_word(part.get("type") or part.get("kind") or part.get("part_kind"))
        text = next((part[key] for key in ("text", "refusal") if isinstance(part.get(key), str)), None)
        found = _picture(part) if kind in _PICTURES or "inlineData" in part or "inline_data" in part else None
        if kind in _TEXTS and text is not None:
            texts.append(text)
        elif isinstance(found, Image):
            images.append(found)
        elif found:
            texts.append(f"[image: {found}]")
        else:
            texts.append(f"[{kind or 'item'}: kept in the transcript, not shown]")
            kept.append(json_text(part))
    return Content("\n\n".join(texts), tuple(images), tuple(kept))


def _picture(part: Mapping[str, Any]) -> Image | str:
    """The picture of a part, or its address when the file does not hold it; empty when there is neither."""
    source = as_map(part.get("source") or part.get("inlineData") or part.get("inline_data")) or part
    data = source.get("data") or source.get("base64")
    media = as_text(next((source[key] for key in _MEDIA if isinstance(source.get(key), str)), "image/png"))
    if isinstance(data, str):
        return picture(media, data) if media.startswith("image/") else ""
    url = source.get("image_url", source.get("url"))
    url = as_text(as_map(url).get("url") if isinstance(url, dict) else url)
    if url.startswith("data:"):
        return picture_from_url(url) or ""
    return url if part.get("kind") != "file" and part.get("type") != "file" else ""


_MEDIA = ("media_type", "mime_type", "mimeType", "mime")
