"""Cline and Roo Code task histories (`api_conversation_history.json`): Anthropic messages, with more in their text.

Models call tools by tags in their text, or by Anthropic's blocks. Results come as text blocks of the next user message
that begin with `[read_file for 'x'] Result:`, or as Anthropic's blocks. What the user said stands in tags of its own;
details of the environment, reminders and summaries that the program wrote become notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from refold.importers.conversations import Item, importer
from refold.importers.documents import MESSAGES
from refold.importers.lines import as_map, as_text, as_time, between
from refold.importers.messages.anthropic_blocks import Said, blocks, is_content, read_assistant, read_user, role_of
from refold.importers.messages.xml_tools import tagged_calls
from refold.importers.open_calls import OpenCalls
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Image
from refold.values.tools import SessionFacts

TOOLS = frozenset(
    {
        "access_mcp_resource",
        "act_mode_respond",
        "apply_diff",
        "apply_patch",
        "ask_followup_question",
        "attempt_completion",
        "browser_action",
        "codebase_search",
        "condense",
        "edit_file",
        "execute_command",
        "fetch_instructions",
        "generate_explanation",
        "generate_image",
        "insert_content",
        "list_code_definition_names",
        "list_files",
        "load_mcp_documentation",
        "new_rule",
        "new_task",
        "plan_mode_respond",
        "plan_mode_response",
        "read_file",
        "replace_in_file",
        "report_bug",
        "run_slash_command",
        "search_and_replace",
        "search_files",
        "search_replace",
        "skill",
        "summarize_task",
        "switch_mode",
        "update_todo_list",
        "use_mcp_tool",
        "use_skill",
        "use_subagents",
        "web_fetch",
        "web_search",
        "write_to_file",
    }
)
_ASKING = frozenset(
    {"ask_followup_question", "attempt_completion", "new_task", "plan_mode_respond", "plan_mode_response"}
)
"""Tools whose result is what the user says."""
_RESULT = re.compile(r"\s*\[(\w{1,60})(?: for [^\n]{0,4000}?| in [^\n]{0,4000}?)?\] Result:", re.ASCII)
_LONG_RESULT = re.compile(r"\s*\[(\w{1,60}) for .{0,20000}?'\] Result:", re.ASCII | re.DOTALL)
_WORDS = ("task", "feedback", "user_message", "answer")
"""Tags around what the user said."""
_INJECTED = (
    "<environment_details>",
    "<explicit_instructions",
    "# TODO LIST",
    "# task_progress",
    "[ERROR] You did not use a tool",
    "[TASK RESUMPTION]",
    "[NOTE]",
)


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """User messages with the task in its tag, the details of the environment, or a result as a text."""
    return any(
        text.lstrip().startswith(("<environment_details>", "<task>")) or _RESULT.match(text) is not None
        for message in messages
        if message.get("role") == "user" and isinstance(message.get("content"), list)
        for block in blocks(message["content"])
        if block.get("type") == "text" and (text := as_text(block.get("text")))
    )


@define
class _Result:
    tool: str
    call_id: str
    texts: list[str] = field(factory=list)
    images: list[Image] = field(factory=list)


@define
class _Message:
    """A user message, sorted."""

    results: list[_Result] = field(factory=list)
    words: list[str] = field(factory=list)
    images: list[Image] = field(factory=list)
    notices: list[str] = field(factory=list)


class Reader:
    """The messages of one task."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._steps = Steps(name)
        self._count = 0
        self._open = OpenCalls()

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        yield from ()

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        fields = as_map(message)
        if self._count == 1:
            yield SessionFacts(self._name, created=as_time(fields.get("ts")))
        role, content = role_of(fields), fields.get("content")
        if fields.get("type") == "reasoning":
            yield from self._steps.close()
            yield from self._steps.answer(replays=[replay("cline", "", fields)])
        elif not role or not is_content(content):
            yield f"message {self._count} has no known role, or no content"
        elif fields.get("isSummary"):
            yield from self._steps.event("notice", read_user(content).text)
        elif role == "assistant":
            yield from self._answer(content, as_text(as_map(fields.get("modelInfo")).get("modelId")))
        else:
            yield from self._user(content)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _answer(self, content: Any, model: str) -> Iterator[Item]:
        said = read_assistant(content, model)
        words, tagged = tagged_calls(said.text, TOOLS)
        calls = [
            *said.calls,
            *(Call(f"call-{self._count}-{n}", each.name, each.arguments) for n, each in enumerate(tagged, 1)),
        ]
        if not (words or calls or said.replays):
            yield f"message {self._count} is empty"
        self._open.make(calls)
        yield from self._steps.close()
        yield from self._steps.answer(text=words, calls=calls, replays=said.replays)

    def _user(self, content: Any) -> Iterator[Item]:
        said = read_user(content)
        sorted_ = _Message()
        for result in said.results:
            tool = self._open.answer(result.call_id)
            text = _outside(result.text, sorted_) if _is_said(tool, result.text) else result.text
            yield from self._steps.result(result.call_id, text, result.ok, result.images)
        self._sort(content, sorted_)
        for each in sorted_.results:
            text = "\n".join(part for part in each.texts if part.strip())
            if _is_said(each.tool, text):
                text = _outside(text, sorted_)
            yield from self._steps.result(each.call_id, text, images=tuple(each.images))
        for notice in (*sorted_.notices, *said.kept):
            yield from self._steps.event("notice", notice)
        words = "\n\n".join(sorted_.words)
        if words or sorted_.images:
            yield from self._steps.user(words, tuple(sorted_.images))
        elif not (said.results or sorted_.results or sorted_.notices):
            yield f"message {self._count} is empty"

    def _sort(self, content: Any, message: _Message) -> None:
        """Takes the text and picture blocks: what follows the head of a result without content is its content."""
        current: _Result | None = None
        for block in blocks(content):
            if block.get("type") == "tool_result":
                continue
            one = read_user([block])
            head = _RESULT.match(one.text) or _LONG_RESULT.match(one.text)
            if head:
                current = _Result(head[1], self._answered(head[1]))
                message.results.append(current)
                body = one.text[head.end() :]
                current.texts.append(body.strip("\n") if current.call_id else one.text)
            elif one.text.lstrip().startswith(_INJECTED):
                message.notices.append(one.text)
                current = None
            elif current is not None and (one.images or not any(part.strip() for part in current.texts)):
                current.texts.append(one.text)
                current.images.extend(one.images)
            else:
                self._words(one, message)

    def _words(self, said: Said, message: _Message) -> None:
        outside = _outside(said.text, message)
        message.images.extend(said.images)
        if outside.strip():
            message.words.append(outside)

    def _answered(self, tool: str) -> str:
        """The call that a result of this tool answers; empty when nothing was called."""
        return self._open.answer_oldest(tool) or self._open.answer_oldest()


def _is_said(tool: str, result: str) -> bool:
    """Whether a result holds words of the user: an answer, or what came with an approval or a refusal."""
    return tool in _ASKING or (result.lstrip().startswith("The user ") and result.rstrip().endswith("</feedback>"))


def _outside(text: str, message: _Message) -> str:
    """A text without what the user said in it, which goes to the message's words."""
    for tag in _WORDS:
        start, end = f"<{tag}>", f"</{tag}>"
        if text.count(start) == text.count(end) == 1 and (inside := between(text, start, end)) is not None:
            if inside.strip():
                message.words.append(inside.strip())
            before, _, behind = text.partition(start)
            text = (before + behind.partition(end)[2]).strip()
    return text


IMPORTER = importer("cline", looks, Reader, MESSAGES)
