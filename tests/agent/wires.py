"""What a model says, as each protocol puts it on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from attrs import frozen


@frozen
class Say:
    """One answer. `calls` are (id, name, arguments); arguments may be a text as it is. `usage` is (input, output).

    After the pieces of `text` the wire may `end` in a "cut" or a "hang".
    """

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    stop: str = "end"
    usage: tuple[int, int] | None = None
    cached: int = 0
    end: str = ""
    pieces: int = 3


@frozen
class Refuse:
    """A refusal: a status, and a body that is a text or JSON."""

    status: int
    body: Any


def too_large(limit: int, counted: int) -> Refuse:
    """As OpenAI says it."""
    words = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {counted} tokens."
    )
    return Refuse(
        400, {"error": {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    )


def parts(say: Say) -> list[str]:
    """The text in as many pieces as it goes out."""
    size = max(1, -(-len(say.text) // say.pieces))
    return [say.text[start : start + size] for start in range(0, len(say.text), size)]


def arguments(call: tuple[str, str, Any]) -> str:
    return call[2] if isinstance(call[2], str) else json.dumps(call[2])


def chat(say: Say) -> Iterator[Any]:
    for piece in parts(say):
        yield {"choices": [{"index": 0, "delta": {"content": piece}}]}
    if say.end:
        return
    for n, call in enumerate(say.calls):
        function = {"name": call[1], "arguments": arguments(call)}
        made = {"index": n, "id": call[0], "type": "function", "function": function}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [made]}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": _chat_stop(say)}]}
    if say.usage:
        yield {"choices": [], "usage": _chat_usage(say)}
    yield "data: [DONE]\n\n"


def chat_whole(say: Say) -> dict[str, Any]:
    message = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = [
            {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": arguments(call)}}
            for call in say.calls
        ]
    choices = [{"index": 0, "message": message, "finish_reason": _chat_stop(say)}]
    return {"choices": choices, **({"usage": _chat_usage(say)} if say.usage else {})}


def _chat_stop(say: Say) -> str:
    return "tool_calls" if say.calls and say.stop == "end" else {"end": "stop"}.get(say.stop, say.stop)


def _chat_usage(say: Say) -> dict[str, Any]:
    assert say.usage
    counted, written = say.usage
    details = {"cached_tokens": say.cached}
    return {"prompt_tokens": counted, "completion_tokens": written, "prompt_tokens_details": details}


def responses(say: Say) -> Iterator[Any]:
    output: list[dict[str, Any]] = []
    if say.text:
        for piece in parts(say):
            yield {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
        content = [{"type": "output_text", "text": say.text, "annotations": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    if say.end:
        return
    for call in say.calls:
        item = {"type": "function_call", "id": f"fc_{call[0]}", "call_id": call[0], "name": call[1]}
        item = {**item, "arguments": arguments(call), "status": "completed"}
        yield {"type": "response.output_item.added", "output_index": len(output), "item": {**item, "arguments": ""}}
        yield {"type": "response.output_item.done", "output_index": len(output), "item": item}
        output.append(item)
    whole: dict[str, Any] = {"id": "resp_1", "status": "completed", "output": output}
    if say.stop == "length":
        whole |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if say.usage:
        whole["usage"] = {"input_tokens": say.usage[0], "output_tokens": say.usage[1]}
    yield {"type": f"response.{whole['status']}", "response": whole}


def anthropic(say: Say) -> Iterator[Any]:
    counted = {"input_tokens": say.usage[0] if say.usage else 1, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": counted}
    yield {"type": "message_start", "message": start}
    index = 0
    if say.text:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in parts(say):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        if say.end:
            return
        yield {"type": "content_block_stop", "index": 0}
        index = 1
    for n, call in enumerate(say.calls, index):
        block = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        yield {"type": "content_block_start", "index": n, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": arguments(call)}
        yield {"type": "content_block_delta", "index": n, "delta": delta}
        yield {"type": "content_block_stop", "index": n}
    stop = "tool_use" if say.calls else "max_tokens" if say.stop == "length" else "end_turn"
    usage = {"output_tokens": say.usage[1] if say.usage else 1}
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}
    yield {"type": "message_stop"}


def gemini(say: Say) -> Iterator[Any]:
    for piece in parts(say):
        yield {"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]}
    if say.end:
        return
    calls = [{"functionCall": {"id": call[0], "name": call[1], "args": call[2]}} for call in say.calls]
    stop = "MAX_TOKENS" if say.stop == "length" else "STOP"
    last: dict[str, Any] = {"candidates": [{"content": {"role": "model", "parts": calls}, "finishReason": stop}]}
    if say.usage:
        last["usageMetadata"] = {"promptTokenCount": say.usage[0], "candidatesTokenCount": say.usage[1]}
    yield last


STREAMS = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}


def faults_of_chat(body: dict[str, Any]) -> list[str]:
    """What a strict Chat Completions server would refuse in a request."""
    faults = []
    waiting: list[str] = []
    for n, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                faults.append(f"message {n}: a result that follows no call of its own")
            else:
                waiting.remove(message["tool_call_id"])
        elif waiting:
            faults.append(f"message {n}: {len(waiting)} calls have no result")
            waiting = []
        if n and role == body["messages"][n - 1]["role"] != "tool":
            faults.append(f"message {n}: the second of role {role} in a row")
        if role == "system" and n:
            faults.append(f"message {n}: a system message in the middle")
        if not message.get("tool_calls") and not (content if not isinstance(content, str) else content.strip()):
            faults.append(f"message {n}: blank")
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
        for call in message.get("tool_calls") or ():
            json.loads(call["function"]["arguments"])
    if waiting:
        faults.append("the last calls have no result")
    if body["messages"][-1]["role"] == "assistant":
        faults.append("the last message is the model's own")
    return faults
