"""Which model an id means: its provider, its limits, and who said so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from refold.providers import catalog
from refold.providers.bound_thinking import binds_thinking
from refold.providers.client import Client
from refold.providers.lines import Patience
from refold.providers.listing import Listed
from refold.providers.listings import Fetch, Listings
from refold.providers.models_file import NAME, ModelEntry, ModelsFile, read_models
from refold.providers.provider import ProviderConfig, owner
from refold.values.errors import NotFound, Refused
from refold.values.sizes import Model, Window


@frozen
class ResolvedModel:
    """A model that can be asked.

    `id` is `provider/model`, while `model.id` is the provider's own word. `windows` come in the order of their
    authority: `models.json`, the provider's listing, the catalog; nobody is asked whose word would not count.
    `max_output` is tokens; None: nobody says.
    """

    id: str
    model: Model
    provider: ProviderConfig
    windows: tuple[Window, ...]
    max_output: int | None = None


class Models:
    """The models of a home. Its file is looked at with every question, so a change serves at once.

    `fetch` reads a provider's listing; by default the provider is asked.
    """

    def __init__(self, home: Path, fetch: Fetch | None = None) -> None:
        self._home = home
        self._listings = Listings(home, fetch or _fetch)
        self._read: tuple[object, ModelsFile] = (None, ModelsFile())

    def file(self) -> ModelsFile:
        """`models.json` as it stands, with its faults."""
        stamp = _stamp(self._home / NAME)
        if stamp is None or stamp != self._read[0]:
            self._read = (stamp, read_models(self._home))
        return self._read[1]

    def resolve(self, id: str | None = None) -> ResolvedModel:
        """The model of that id, or the default one.

        A model that the file does not list is taken as it is named, if its provider is there. Raises NotFound for a
        provider that is not, Refused when there is no default.
        """
        file = self.file()
        id = id if id is not None else file.default
        if id is None:
            raise Refused(
                f"no model is chosen; nothing was sent; name a default in {self._home / NAME}{_first_fault(file)}"
            )
        name, _, model = id.partition("/")
        provider = file.providers.get(name)
        if provider is None or not model:
            known = ", ".join(file.providers) or "none"
            raise NotFound(
                f"no model {id[:120]!r}: models are named provider/model, and the providers in {self._home / NAME} are"
                f" {known}; nothing was sent{_first_fault(file)}"
            )
        entry = file.models.get(id, ModelEntry())
        # A model that the file tells all about waits for no listing.
        listed = {} if _complete(entry) else self._listings.models(provider)
        return _resolved(id, provider, model, entry, listed)

    def all(self) -> list[ResolvedModel]:
        """Every model that the file or a provider's listing names, by id."""
        file = self.file()
        found: dict[str, ResolvedModel] = {}
        for provider in file.providers.values():  # all at once, so that nobody waits for one behind the other
            self._listings.begin(provider)
        for name, provider in file.providers.items():
            listed = self._listings.models(provider)
            named = [id.partition("/")[2] for id in file.models if id.partition("/")[0] == name]
            for model in {*named, *listed}:
                id = f"{name}/{model}"
                found[id] = _resolved(id, provider, model, file.models.get(id, ModelEntry()), listed)
        return [found[id] for id in sorted(found)]


def _complete(said: ModelEntry | Listed) -> bool:
    return bool(said.window and said.max_output and said.inputs)


def _resolved(
    id: str, provider: ProviderConfig, model: str, said: ModelEntry, listing: Mapping[str, Listed]
) -> ResolvedModel:
    listed = listing.get(model, Listed(model))
    shipped = None if _complete(said) or _complete(listed) else catalog.look_up(provider, model)
    shipped = shipped or Listed(model)
    inputs = frozenset[str](said.inputs) if said.inputs else listed.inputs or shipped.inputs
    return ResolvedModel(
        id,
        Model(
            model,
            provider.protocol,
            owner(provider, model),
            inputs,
            said.image_limits.max_edge,
            said.image_limits.max_images or listed.max_images,
            binds_thinking(model) if said.bound_thinking is None else said.bound_thinking,
        ),
        provider,
        (
            Window(said.window, "models.json"),
            Window(listed.window, "listing"),
            Window(shipped.window, "catalog"),
        ),
        said.max_output or listed.max_output or shipped.max_output,
    )


def _stamp(path: Path) -> object:
    """Equal while a file is the same; None when that cannot be told."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _fetch(provider: ProviderConfig) -> tuple[Listed, ...]:
    with Client(provider, Patience(connect=3.0, attempts=1)) as client:
        return client.models()


def _first_fault(file: ModelsFile) -> str:
    return f"; it has a fault: {file.faults[0]}" if file.faults else ""
