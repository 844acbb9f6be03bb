"""refold in one home: its sessions, its extensions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from attrs import frozen

from refold.agent import app_input
from refold.agent.home import home_path
from refold.agent.slash import match_model
from refold.providers.client import Client
from refold.providers.models import Models
from refold.providers.provider import ProviderConfig
from refold.registry.composition import Composition, Listed
from refold.registry.registry import Registry, Reloaded
from refold.registry.selection import Problem
from refold.transcript import sessions, state
from refold.transcript.database import Database
from refold.transcript.deletion import finish_deletions
from refold.transcript.leases import Holder, break_lease, holders
from refold.transcript.migrations import migrate
from refold.transcript.ownership import claim_stores, forget
from refold.transcript.sessions import Branch
from refold.values.errors import Refused

if TYPE_CHECKING:
    from refold.agent.session import Session
    from refold.importers.store import Imported
    from refold.summarize.reply import Summarizer


@frozen
class Extensions:
    """What `refold extensions` lists: the strategy in force, every extension, and problems of the installation."""

    strategy: str | None
    extensions: tuple[Listed, ...]
    problems: tuple[Problem, ...]


class Host:
    """The sessions and extensions of one home. Safe to share by threads; several processes may open one home.

    `home` is a folder (default: `REFOLD_HOME`, else the platform's data folder); it is made when it is missing.
    `summarizers` write the summaries of its sessions, the next one where the one before failed (default: what
    `models.json` names, else the session's model, else the offline one).

        with Host() as host:
            session = host.new(title="a first session")
            session.user("What is in this folder?")
            request = session.prepare(window=8_000).request
    """

    def __init__(self, home: Path | str | None = None, *, summarizers: Sequence[Summarizer] | None = None) -> None:
        self.home = home_path(home)
        self.summarizers = app_input.summarizers(summarizers)
        self.database = Database(self.home / "refold.db")
        self._problems = tuple(Problem(None, text) for text in finish_deletions(self.database))
        self.registry = Registry(self.home, partial(claim_stores, self.database), partial(migrate, self.database))
        self.models = Models(self.home)
        self._clients: dict[ProviderConfig, Client] = {}
        self._clients_lock = threading.Lock()

    def close(self) -> None:
        """Closes connections and database. Sessions of this host are of no use afterwards."""
        with self._clients_lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        self.database.close()

    def client(self, provider: ProviderConfig) -> Client:
        """The client of a provider, shared by all sessions of this host."""
        with self._clients_lock:
            if provider not in self._clients:
                self._clients[provider] = Client(provider)
            return self._clients[provider]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def model_id(self, name: str) -> str:
        """The full id of a configured model that is meant by `name`. Raises Refused for an unknown or ambiguous one."""
        return match_model(name, sorted({each.id for each in self.models.all()}))

    def new(self, id: str | None = None, *, title: str | None = None, model: str | None = None) -> Session:
        """Makes an empty session. Raises Refused for an id that is taken or cannot be one."""
        with self.database.write() as writer:
            made = sessions.create(writer, id, title=title, model=model)
        return self._session(made.id)

    def session(self, id: str | None = None) -> Session:
        """The session of that id; without one, the session made last. Raises NotFound."""
        with self.database.read() as reader:
            found = sessions.find(reader, id) if id is not None else sessions.newest(reader)
        return self._session(found.id)

    def sessions(self) -> list[sessions.Listed]:
        """Every session with its totals, oldest first."""
        with self.database.read() as reader:
            return sessions.listing(reader)

    def holders(self) -> dict[str, Holder]:
        """Who holds a session now, by the session's id: it is sent to, compacted or deleted."""
        with self.database.read() as reader:
            return holders(reader)

    def unlock(self, session: str) -> Holder | None:
        """Takes a session from whoever holds it, and returns who did; None: nobody. Raises NotFound.

        For a holder that cannot give it back: in a container that is gone, or with a clock that jumped. One that does
        live stops at its next step; what it committed is kept.
        """
        if session not in self.holders():  # it may hide behind a deletion that goes on elsewhere
            with self.database.read() as reader:
                sessions.find(reader, session)
        return break_lease(self.database, session)

    def tree(self, session: str | None = None) -> list[Branch]:
        """All sessions as trees, or the one tree that begins with a session. Raises NotFound."""
        with self.database.read() as reader:
            return sessions.tree(reader, session)

    def import_file(
        self,
        source: Path | BinaryIO,
        *,
        format: str | None = None,
        session: str | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Imported:
        """Imports a session file of an agent; the same file twice adds nothing. Raises Refused or NotFound."""
        from refold.importers.formats import BUILT_IN
        from refold.importers.store import import_file

        if progress is not None:
            app_input.plain_function("progress", progress)
        added = tuple(importer for _, importer in self.registry.composition().importers)
        return import_file(
            self.database, source, format=format, session=session, importers=(*BUILT_IN, *added), progress=progress
        )

    def extensions(self, session: str | None = None) -> Extensions:
        """The extensions as they stand, for a session or for one without choices of its own. Raises NotFound."""
        composition = self.composition(session)
        strategy = composition.strategy.id if composition.strategy else None
        return Extensions(strategy, composition.listing, (*self._problems, *composition.problems))

    def extensions_without_loading(self, session: str | None = None) -> Extensions:
        """The same list from metadata and from what was remembered: no extension is imported. Raises NotFound."""
        listing, problems = self.registry.listing_without_loading(self._choices(session))
        strategies = [each.id for each in listing if each.enabled and each.kind == "strategy"]
        return Extensions(strategies[0] if strategies else None, listing, (*self._problems, *problems))

    def choose(self, id: str, on: bool | None, session: str | None = None) -> Extensions:
        """Switches an extension on or off, globally or for one session; None drops the choice of that scope.

        The choice holds from the next turn on: one that runs keeps the extensions it began with. Raises Refused,
        naming the rule, or NotFound; then nothing changed.
        """
        self.store_choice(id, on, session)
        return self.extensions(session)

    def store_choice(self, id: str, on: bool | None, session: str | None = None) -> None:
        """`choose` without an answer: nothing is imported to switch an extension off, or to drop a choice."""
        if session is None:
            self.registry.choose({id: on})
            return
        before = self._choices(session)
        after = self.registry.propose({id: on}, before)
        with self.database.write() as writer:
            sessions.find(writer, session)
            for extension in before.keys() | after.keys():
                state.set_choice(writer, session, extension, after.get(extension))

    def forget_extension(self, id: str) -> list[str]:
        """Drops the tables that an extension left behind when it was uninstalled, with its claim to their names.

        Returns the names of the tables: none where another extension shares them. Transcripts stay. Raises Refused
        while the extension is installed, NotFound when the home holds nothing of it.
        """
        if any(each.id == id and each.version is not None for each in self.extensions_without_loading().extensions):
            raise Refused(f"{id} is installed; nothing was changed; uninstall it first, then its tables can go")
        return forget(self.database, id)

    def select(self, strategy: str, session: str) -> bool:
        """Makes a strategy the session's own; false when it is so already: a default may change, a choice stays.

        Raises Refused or NotFound; then nothing changed.
        """
        listed = self.extensions(session)
        own = {each.id for each in listed.extensions if each.chosen == "session" and each.enabled}
        if listed.strategy == strategy and strategy in own:
            return False
        self.store_choice(strategy, True, session)
        return True

    def reload(self) -> Reloaded:
        """Picks up extensions that pip installed, upgraded or removed while this process lives.

        It waits for nobody and may be called from inside a turn: turns that run go on with the code they began with,
        new ones get the new code. Raises RefoldError when the scan failed; then everything stays as it was.
        """
        return self.registry.reload()

    def composition(self, session: str | None = None) -> Composition:
        """The set of extensions in force. Raises NotFound for an unknown session."""
        return self.registry.composition(self._choices(session))

    def proposed(self, id: str, session: str) -> Composition:
        """The set that would be in force if the session chose that extension. Raises Refused or NotFound."""
        return self.registry.composition(self.registry.propose({id: True}, self._choices(session)))

    def _choices(self, session: str | None) -> Mapping[str, bool]:
        if session is None:
            return {}
        with self.database.read() as reader:
            return state.choices(reader, sessions.find(reader, session).id)

    def _session(self, id: str) -> Session:
        from refold.agent.session import Session

        return Session(self, id)
