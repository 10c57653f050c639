"""What every store promises to other languages: the vectors of `conformance/`, played from their files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from contracts.vectors import VECTORS, play
from teamster.store import Store


class VectorContract:
    """One test for each vector; a new file is one more test of each store."""

    @pytest.mark.req("DC-spec")
    @pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.req(*vector["rows"])) for name, vector in VECTORS.items()]
    )
    def test_the_vector_is_kept(self, open_store: Callable[[], Store], name: str) -> None:
        """Another implementation is held to the very same file."""
        with contextlib.closing(open_store()) as store:
            play(store, VECTORS[name])
