"""Replies of slash commands as plain text. What comes from a transcript is shown as it is: a console escapes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.agent.host import Extensions
from refold.prepare.request import Prepared
from refold.providers.models import ResolvedModel
from refold.registry.registry import Reloaded
from refold.transcript.sessions import Branch
from refold.values.contexts import Fold
from refold.values.inputs import Rows
from refold.values.outcome import Applied

_COUNTED = {
    "estimate": "estimated here",
    "reported_usage": "counted by the provider, what came since estimated here",
    "count_endpoint": "counted by the provider",
}


def compacted(prepared: Prepared) -> str:
    """What came of a compaction, on one line."""
    outcome = prepared.attempted.outcome if prepared.attempted else None
    if not isinstance(outcome, Applied):
        return f"Nothing was compacted: {outcome.reason if outcome else 'it was not tried'}."
    assert prepared.attempted is not None
    inputs = [part for section in prepared.projection.sections for part in section.inputs]
    kept = sum(len(part.range) for part in inputs if isinstance(part, Rows))
    before, after = prepared.attempted.before.tokens, prepared.size.tokens
    folded = f"{len(outcome.covers):,} rows folded, {kept:,} kept as they are"
    parts = [f"Context compacted: {folded}, {before:,} -> {after:,} tokens."]
    if outcome.summary is not None:
        parts.append(f"Summarizer: {outcome.summary.model}.")
        if outcome.summary.passes > 1:
            parts.append(f"The history did not fit one request, so it was folded in {outcome.summary.passes:,} passes.")
    if outcome.lossy:
        parts.append("Some of it is gone from view without a summary; a notice says so.")
    return " ".join([*parts, outcome.note]).strip()


def context(document: Mapping[str, Any]) -> str:
    """The snapshot of `Session.context`."""
    if document["state"] == "pending":
        return f"{str(document['reason']).capitalize()}."
    compaction = document["compaction"]
    window = document.get("context_window_tokens")
    used = compaction["estimated_input_tokens"]
    share = f" ({used * 100 // window} %)" if window else ""
    lines = [
        f"model       {document.get('model', 'none')}",
        f"window      {f'{window:,} tokens ' if window else ''}({document['context_window_source']})",
        f"request     {used:,} tokens{share}, {_COUNTED.get(compaction['size_source'], 'estimated here')}",
        f"compaction  {compaction.get('strategy', 'no strategy')}: {compaction['source']}; {compaction['automatic']}",
    ]
    if "provider_input_tokens" in compaction:
        cached = compaction.get("provider_cached_input_tokens")
        cached_words = f", {cached:,} of them cached" if cached else ""
        lines.append(f"provider    counted {compaction['provider_input_tokens']:,} tokens{cached_words}")
    lines += [f"{label}: {value}" for label, value in compaction["facts"].items()]
    lines += [f"prompt cache begins anew: {', '.join(document['changed'])}"] if document["changed"] else []
    width = max((len(section["id"]) for section in document["sections"]), default=0)
    for section in document["sections"]:
        rows = f", rows {section['first_seq']}-{section['last_seq']}" if "first_seq" in section else ""
        tokens = f"{section['estimated_tokens']:>9,}"
        lines.append(f"{section['id']:<{width}}  {tokens}  {section['label']}{rows}")
    return "\n".join([*lines, *document["notices"]])


def context_page(page: Mapping[str, Any]) -> str:
    """One page of a section."""
    left = f"\n[left out: {page['omitted']}]" if "omitted" in page else ""
    more = f"\n[page {page['page']} of 0-{page['pages'] - 1}]" if page["pages"] > 1 else ""
    return f"{page['content']}{left}{more}"


def extensions(listed: Extensions) -> str:
    """The extensions, a line each, and their problems."""
    lines = []
    for each in listed.extensions:
        state = "in force" if each.id == listed.strategy else "on" if each.enabled else "off"
        chosen = f", chosen for this {each.chosen}" if each.chosen == "session" else ""
        lines.append(f"{each.id} {each.version or ''}: {state}{chosen}. {each.title or ''}".rstrip())
        lines += [f"  {each.problem}"] if each.problem else []
    lines += [problem.text for problem in listed.problems if problem.id is None]
    return "\n".join(lines) or "No extension is installed: requests hold the whole history."


def tree(branches: Sequence[Branch], here: str, folds: Sequence[Fold]) -> str:
    """Which session came from which; `here` is marked, and its folds follow."""
    lines = [line for branch in branches for line in _branch(branch, here, 0)]
    return "\n".join([*lines, *(f"folded up to row {fold.covers.upto}: {fold.label} ({fold.owner})" for fold in folds)])


def models(offered: Sequence[ResolvedModel], chosen: str | None) -> str:
    """The models that can be asked, the session's own marked."""
    lines = []
    for each in offered:
        window = next((window for window in each.windows if window.tokens is not None), None)
        size = f"{window.tokens:,} tokens ({window.source})" if window else "window unknown"
        lines.append(f"{'*' if each.id == chosen else ' '} {each.id}  {size}")
    return "\n".join(lines) or "No model is configured: name a provider in models.json."


def reloaded(found: Reloaded) -> str:
    """What a reload found."""
    named = {"added": found.added, "changed": found.changed, "removed": found.removed}
    told = [f"{what} {', '.join(ids)}" for what, ids in named.items() if ids]
    problems = [problem.text if problem.id is None else f"{problem.id}: {problem.text}" for problem in found.problems]
    return "\n".join([f"Reloaded: {'; '.join(told) or 'nothing changed'}.", *problems])


def answer(given: Mapping[str, Any]) -> str:
    """What a command of an extension returned: a line a value, lists of mappings a line an entry."""
    lines = []
    for key, value in given.items():
        if isinstance(value, (list, tuple)) and value and all(isinstance(each, Mapping) for each in value):
            lines.append(f"{key}:")
            lines += ["  " + ", ".join(f"{name} {_plain(each)}" for name, each in entry.items()) for entry in value]
        else:
            lines.append(f"{key}: {_plain(value)}")
    return "\n".join(lines) or "done"


def _branch(branch: Branch, here: str, depth: int) -> Iterator[str]:
    session = branch.session
    came = f" (forked at {session.forked_at})" if session.forked_at else ""
    yield f"{'  ' * depth}{'*' if session.id == here else '-'} {session.id}{came} {session.title or ''}".rstrip()
    for child in branch.children:
        yield from _branch(child, here, depth + 1)


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value) or "none"
    return "-" if value is None else f"{value:,}" if type(value) is int else str(value)
