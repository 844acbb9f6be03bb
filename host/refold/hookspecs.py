"""The contract between host and extensions: one hookspec a capability.

An extension is the object behind one entry point in the group `refold.extensions`; it implements the hooks it needs:

    from refold import Manifest, hookimpl

    @hookimpl
    def manifest() -> Manifest:
        return Manifest(id="keep-last", title="Keep last", summary="Shows the newest turns only")

Each extension has a plugin manager of its own, so a hook is asked of one extension at a time, its result has an owner,
and a raise costs that extension alone. A hook without an answer returns None.
"""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from refold.values.contexts import CompactionStrategy, Context, Fold, FoldPlugin, Fork, Reducer, Work
from refold.values.inputs import Fact, Projection
from refold.values.manifest import Manifest
from refold.values.outcome import Event
from refold.values.rows import Image
from refold.values.tools import Command, ContextBlock, Importer, Tool

NAME = "refold"
GROUP = "refold.extensions"

hookspec = pluggy.HookspecMarker(NAME)
hookimpl = pluggy.HookimplMarker(NAME)


class Hooks:
    """Every hook, in the order of a session's life. All are `firstresult`."""

    # Read when a composition is built: no session, no I/O. A raise switches the extension off and says why.

    @hookspec(firstresult=True)
    def manifest(self) -> Manifest | None:
        """Who the extension is. Called once, right after its module is imported; required.

        It must be quick and free of I/O. A raise, a missing manifest, or an id other than the entry point's name
        switches the extension off.

        Example:

            @hookimpl
            def manifest() -> Manifest:
                return Manifest(id="keep-last", title="Keep last", summary="Shows the newest turns", default=False)
        """

    @hookspec(firstresult=True)
    def migrations(self) -> Sequence[str] | None:
        """SQL scripts, oldest first, that build the extension's tables; script n takes them from version n to n+1.

        Run once each, for every healthy installed extension, on or off. Every table, index, view and trigger is named
        like the store or begins with its name and `_`, full-text tables (fts5) too; whoever had the name first in a
        home keeps it. A table with session data has `session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE`.
        A reference to another table of the store says `ON DELETE CASCADE` or `SET NULL`, and triggers touch the
        store's tables alone: the host deletes a session by itself. Never change a script that was released: append
        one. A script that fails, or touches what is not the store's, is rolled back and switches the extension off.

        Example:

            @hookimpl
            def migrations() -> list[str]:
                return ["CREATE TABLE keep_last_state(session TEXT NOT NULL PRIMARY KEY"
                        " REFERENCES sessions(id) ON DELETE CASCADE, seq INTEGER NOT NULL, tokens INTEGER NOT NULL)"]
        """

    @hookspec(firstresult=True)
    def compaction_strategy(self) -> CompactionStrategy | None:
        """The strategy, for an extension that is one. Exactly one strategy is enabled in a session.

        The object serves all sessions and threads and holds no state.

        Example:

            @hookimpl
            def compaction_strategy() -> CompactionStrategy:
                return KeepLast()
        """

    @hookspec(firstresult=True)
    def fold_plugin(self) -> FoldPlugin | None:
        """A list of stored folds, for other strategies (`context.prior()`) and for `show`, `tree` and `export`.

        Example:

            @hookimpl
            def fold_plugin() -> FoldPlugin:
                return Blocks()
        """

    @hookspec(firstresult=True)
    def reducer(self) -> Reducer | None:
        """Shortens rows after a strategy projected them. Calls stay paired, refs stay, the transcript is untouched.

        Example:

            @hookimpl
            def reducer() -> Reducer:
                return Superseded()
        """

    @hookspec(firstresult=True)
    def tools(self) -> Sequence[Tool] | None:
        """Read-only tools for the model. On a collision of names the earlier extension in registry order wins.

        A tool's context is a view of the session and of the call: `context.cancelled()` says when to end,
        `context.progress(done, total, text)` tells whoever waits. A tool may be async; it is awaited on the event loop
        that the turn was begun from, else on a private one.

        Example:

            @hookimpl
            def tools() -> list[Tool]:
                return [Tool(name="transcript_grep", description="Find text in the transcript.",
                             parameters={"type": "object", "properties": {"text": {"type": "string"}}},
                             call=lambda context, arguments: grep(context, arguments["text"]))]
        """

    @hookspec(firstresult=True)
    def commands(self) -> Sequence[Command] | None:
        """Commands: `/keep-last status` in a console, `refold keep-last status` in a shell.

        Example:

            @hookimpl
            def commands() -> list[Command]:
                return [Command(name="keep-last status", summary="What is shown", parameters={}, run=status)]
        """

    @hookspec(firstresult=True)
    def importers(self) -> Sequence[Importer] | None:
        """Formats that `refold import` reads besides the host's own.

        Example:

            @hookimpl
            def importers() -> list[Importer]:
                return [Importer(format="my-agent", detect=lambda head: head.startswith(b"MYAGENT"), rows=read)]
        """

    # Called in a session, bound to the extension. A raise skips this one call and shows a notice.

    @hookspec(firstresult=True)
    def context_blocks(self, context: Context) -> Sequence[ContextBlock] | None:
        """Parts of the system prompt. They are never compacted, and a change waits for the next compaction.

        Example:

            @hookimpl
            def context_blocks(context: Context) -> list[ContextBlock]:
                return [ContextBlock(id="rules", label="House rules", text="Answer in English.")]
        """

    @hookspec(firstresult=True)
    def image_bytes(self, context: Work, image: Image) -> bytes | None:
        """The bytes of a picture whose `owner` is this extension. Equal keys must give equal bytes.

        It may `read`, and `commit` to a cache table; that commit never moves the store's revision.

        Example:

            @hookimpl
            def image_bytes(context: Work, image: Image) -> bytes:
                return render(image.key)
        """

    @hookspec(firstresult=True)
    def observe(self, context: Context, projection: Projection) -> Sequence[Fact] | None:
        """Lines for `/context`, after a request was prepared.

        Example:

            @hookimpl
            def observe(context: Context, projection: Projection) -> list[Fact]:
                return [Fact("sections", str(len(projection.sections)))]
        """

    @hookspec(firstresult=True)
    def tail_snapshot(self, context: Context) -> Fold | None:
        """What a follower that is behind may get in place of old rows (`refold tail`, `Session.tail`).

        The fold stands for every row from the first one up to the end of its range. Whoever wants the rows themselves
        asks for them and gets them; None: nothing stands in their place.

        Example:

            @hookimpl
            def tail_snapshot(context: Context) -> Fold | None:
                rows = RowRange(context.session, 0, 40)
                return Fold("keep-last", "1", "rows 1-40", "what happened so far", rows)
        """

    @hookspec(firstresult=True)
    def pre_compact(self, context: Context, event: Event) -> str | None:
        """Before a compaction folds `event.rows`. A returned text is a veto, and its reason.

        Example:

            @hookimpl
            def pre_compact(context: Context, event: Event) -> str | None:
                return "a deployment is running" if deploying() else None
        """

    @hookspec(firstresult=True)
    def post_compact(self, context: Work, event: Event) -> None:
        """After a compaction was committed (`event.outcome`), before the request is projected again.

        Example:

            @hookimpl
            def post_compact(context: Work, event: Event) -> None:
                context.commit(lambda writer: writer.execute("DELETE FROM keep_last_cache WHERE session=?",
                                                             context.session))
        """

    @hookspec(firstresult=True)
    def session_forked(self, fork: Fork) -> None:
        """A session was forked: copy state whose rows came along. A seq keeps its number in the branch.

        Called for every healthy installed extension, on or off, inside the fork's transaction; a raise undoes this
        extension's copy alone.

        Example:

            @hookimpl
            def session_forked(fork: Fork) -> None:
                fork.write.execute("INSERT INTO keep_last_state SELECT ?, seq, tokens FROM keep_last_state"
                                   " WHERE session=? AND seq<=?", fork.target, fork.source, fork.at)
        """
