"""Every test but eviction's own runs without eviction: it is on by default and adds to every request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_eviction(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if "plugins/eviction" not in request.path.as_posix():
            patch.setenv("REFOLD_DISABLE", "eviction")
        yield
