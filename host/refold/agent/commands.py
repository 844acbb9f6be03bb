"""Slash commands, for consoles and host apps: those of the host, and those that extensions bring.

A command that changes something stands in the transcript with its one-line reply as one `event` row (`command`): it is
shown and never sent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping

from attrs import field, frozen

from refold.agent import telling
from refold.agent.arguments import parse_arguments
from refold.agent.hearing import Emit, unheard
from refold.agent.session import Session
from refold.agent.slash import USAGE, parse_compact
from refold.providers.reasoning import reasoning_level
from refold.values.errors import NotFound, Refused
from refold.values.rows import Row, SourceRef

_COMMAND = re.compile(r"/([a-z][\w-]*)(?:\s+|\Z)(.*)\Z", re.DOTALL)


@frozen
class Reply:
    """What a command says, on one line or many; "" when whoever listens has heard it. `session`: the one to go on
    with, other than before."""

    text: str
    session: Session | None = None


@frozen
class Watch:
    """Who waits for a command: hears events of a compaction, and may stop it."""

    on_event: Emit = unheard
    stop: threading.Event = field(factory=threading.Event)


@frozen
class Command:
    """A command of the host. `run` gets the words behind the name; `reads` says of them whether they change nothing."""

    usage: str
    summary: str
    run: Callable[[Session, str, Watch], Reply]
    reads: Callable[[str], bool]


def split_command(text: str) -> tuple[str, str] | None:
    """The command's name and what follows it, word for word; None for text that is none.

    >>> split_command("/compact keep the ids"), split_command("/etc/hosts is empty"), split_command("see /compact")
    (('compact', 'keep the ids'), None, None)
    """
    found = _COMMAND.match(text.strip())
    return (found[1], found[2]) if found else None


def only_reads(text: str) -> bool:
    """Whether this is a command of the host that changes nothing, so that it may run beside a turn.

    >>> only_reads("/context tail"), only_reads("/extensions"), only_reads("/extensions disable chain")
    (True, True, False)
    """
    split = split_command(text)
    return split is not None and split[0] in HOST and HOST[split[0]].reads(split[1])


def commands_of(session: Session) -> dict[str, str]:
    """Every command by the words behind the slash, with its summary: the host's first, then those of extensions."""
    brought = session.host.composition(session.id).commands
    hidden = () if session.host.composition(session.id).compaction.enable else ("compact",)
    return {
        **{name: command.summary for name, command in HOST.items() if name not in hidden},
        **{offered.name: offered.summary for _, offered in brought},
    }


def run_command(session: Session, text: str, on_event: Emit = unheard, stop: threading.Event | None = None) -> Reply:
    """Runs what `split_command` takes for a command. Raises NotFound for an unknown one, Refused for wrong words, and
    what the command itself raises; then it changed nothing and no row tells of it."""
    split = split_command(text)
    if split is None:
        raise Refused(f"{text[:80]!r} is no command; nothing was done; one looks like /context")
    name, rest = split
    if name in HOST:
        return HOST[name].run(session, rest, Watch(on_event, stop or threading.Event()))
    words = text.strip().removeprefix("/")
    for _, offered in sorted(session.host.composition(session.id).commands, key=lambda each: -len(each[1].name)):
        if re.match(rf"{re.escape(offered.name)}(?:\s|\Z)", words):
            arguments = parse_arguments(offered.parameters, words.removeprefix(offered.name))
            if "session" in offered.parameters.get("properties", {}):
                arguments["session"] = session.id
            return Reply(telling.answer(session.run(offered.name, arguments)))
    known = ", ".join(f"/{each}" for each in commands_of(session))
    raise NotFound(f"there is no command /{name[:80]}; nothing was done; commands: {known}")


def _compact(session: Session, rest: str, watch: Watch) -> Reply:
    host, composition = session.host, session.host.composition(session.id)
    if not composition.compaction.enable:
        raise Refused("Compaction is disabled: compaction.enable is false in extensions.json; nothing was compacted")
    asked = parse_compact(rest, [each.id for each in composition.installed if each.strategy is not None])
    model = host.model_id(asked.model) if asked.model is not None else None
    level = reasoning_level(asked.reasoning)
    if asked.strategy is not None:
        host.select(asked.strategy, session.id)
    prepared = session.compact(
        instructions=asked.instructions, summarizer=model, reasoning=level, on_event=watch.on_event, stop=watch.stop
    )
    return _recorded(session, "compact", rest, telling.compacted(prepared))


def _context(session: Session, rest: str, watch: Watch) -> Reply:
    words = rest.split()
    if not words:
        return Reply(telling.context(session.context()))
    if len(words) > 2 or (len(words) == 2 and not words[1].isdecimal()):
        raise _misused("context")
    page = session.context_page(words[0], int(words[1]) if len(words) == 2 else 0)
    return Reply(telling.context_page(page))


def _extensions(session: Session, rest: str, watch: Watch) -> Reply:
    words = rest.split()
    changes: Mapping[str, bool | None] = {"enable": True, "disable": False, "inherit": None}
    if not words:
        return Reply(telling.extensions(session.host.extensions(session.id)))
    if len(words) != 2 or words[0] not in changes:
        raise _misused("extensions")
    after = session.host.choose(words[1], changes[words[0]], session.id)
    return _recorded(session, "extensions", rest, f"Strategy {after.strategy or 'none'} is in force for this session.")


def _resume(session: Session, rest: str, watch: Watch) -> Reply:
    if rest:
        raise _misused("resume")
    finished = session.resume(on_event=watch.on_event, stop=watch.stop)
    return Reply(finished.text if watch.on_event is unheard else "")


def _tree(session: Session, rest: str, watch: Watch) -> Reply:
    if rest:
        raise _misused("tree")
    return Reply(telling.tree(session.host.tree(), session.id, session.stored_folds()))


def _fork(session: Session, rest: str, watch: Watch) -> Reply:
    if rest and not rest.isdecimal():
        raise _misused("fork")
    report = session.fork(int(rest) if rest else session.newest_seq())
    branch = f"Forked at row {report.last_seq}: session {report.session} goes on from here."
    failed = [f"{extension} did not copy its state ({reason})." for extension, reason in report.failures]
    reply = _recorded(session, "fork", rest, " ".join([branch, *failed]))
    made = session.host.session(report.session)
    made.system, made.tools, made.approve = session.system, session.tools, session.approve
    return Reply(reply.text, made)


def _model(session: Session, rest: str, watch: Watch) -> Reply:
    if rest:
        return _recorded(session, "model", rest, f"Model {session.use_model(rest)} answers from the next request on.")
    models = session.host.models
    return Reply(telling.models(models.all(), session.record.model or models.file().default))


def _reload(session: Session, rest: str, watch: Watch) -> Reply:
    if rest:
        raise _misused("reload")
    session.host.extensions()  # what is loaded now: a first look would find everything new
    return Reply(telling.reloaded(session.host.reload()))


def _recorded(session: Session, name: str, rest: str, reply: str) -> Reply:
    text = f"{f'/{name} {rest}'.strip()}\n{reply}"
    session.append([Row(SourceRef("", 0), "event", 0, 0, event="command", text=text)])
    return Reply(reply)


def _misused(name: str) -> Refused:
    return Refused(f"nothing was done; usage: {HOST[name].usage}")


def _always(rest: str) -> bool:
    return True


def _alone(rest: str) -> bool:
    """Without words behind it the command lists, with them it changes something."""
    return not rest


def _never(rest: str) -> bool:
    return False


HOST: dict[str, Command] = {
    "compact": Command(USAGE.removeprefix("Usage: "), "Fold older rows into a summary now.", _compact, _never),
    "context": Command("/context [SECTION [PAGE]]", "What the last request was made of.", _context, _always),
    "extensions": Command(
        "/extensions [enable|disable|inherit NAME]", "List or switch extensions.", _extensions, _alone
    ),
    "fork": Command("/fork [SEQ]", "Go on in a new session from a row on.", _fork, _never),
    "model": Command("/model [ID]", "List the models, or choose one.", _model, _alone),
    "reload": Command("/reload", "Pick up extensions that were installed or removed.", _reload, _never),
    "resume": Command("/resume", "Go on with a turn that failed or was stopped.", _resume, _never),
    "tree": Command("/tree", "Show forks, and where this session is folded.", _tree, _always),
}
