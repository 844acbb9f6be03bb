"""Parts of Gemini contents, in the API's spelling (`functionCall`) and in Python's (`function_call`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from refold.importers.content import read_content
from refold.importers.lines import as_arguments, as_list, as_map, as_text, json_text
from refold.importers.steps import replay
from refold.values.rows import Call, Image, Replay


@define
class Answered:
    """The result of a call. An empty `call_id` leaves it to the reader to find the call by its tool's `name`."""

    call_id: str
    name: str
    text: str
    ok: bool
    images: tuple[Image, ...] = ()


@define
class Parts:
    """What the parts of one content are."""

    texts: list[str] = field(factory=list)
    images: list[Image] = field(factory=list)
    calls: list[Call] = field(factory=list)
    replays: list[Replay] = field(factory=list)
    results: list[Answered] = field(factory=list)
    kept: list[str] = field(factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def read_parts(parts: Any, model: str, unnamed: str) -> Parts:
    """Sorts the parts of a content. `unnamed` begins the ids of calls that have none."""
    found = Parts()
    for place, part in enumerate([parts] if isinstance(parts, (str, dict)) else as_list(parts), 1):
        fields = as_map(part)
        call = as_map(_either(fields, "functionCall", "function_call"))
        result = as_map(_either(fields, "functionResponse", "function_response"))
        if isinstance(part, str):
            found.texts.append(part)
        elif call:
            id = as_text(call.get("id")) or f"{unnamed}-{place}"
            found.calls.append(Call(id, as_text(call.get("name")), as_arguments(call.get("args"))))
            if _either(fields, "thoughtSignature", "thought_signature"):
                found.replays.append(replay("gemini", model, fields))
        elif result:
            found.results.append(_answered(result))
        elif fields.get("thought") or any(key in fields for key in _PROVIDERS_OWN):
            found.replays.append(replay("gemini", model, fields))
        elif isinstance(fields.get("text"), str):
            found.texts.append(fields["text"])
        elif file := as_map(_either(fields, "fileData", "file_data")):
            found.texts.append(f"[file: {as_text(_either(file, 'fileUri', 'file_uri'))}]")
        elif fields or part is not None:
            said = read_content(part)
            found.texts += [said.text] if said.text else []
            found.images += said.images
            found.kept += said.kept
    return found


_PROVIDERS_OWN = ("executableCode", "executable_code", "codeExecutionResult", "code_execution_result", "toolCall")


def _answered(result: Mapping[str, Any]) -> Answered:
    answer = result.get("response")
    fields = as_map(answer)
    said = next((fields[key] for key in ("output", "result", "error") if isinstance(fields.get(key), str)), None)
    images = read_content(result["parts"]).images if isinstance(result.get("parts"), list) else ()
    text = said if said is not None else as_text(answer) if isinstance(answer, str) else json_text(answer)
    return Answered(as_text(result.get("id")), as_text(result.get("name")), text, "error" not in fields, images)


def _either(fields: Mapping[str, Any], *keys: str) -> Any:
    return next((fields[key] for key in keys if key in fields), None)
