"""Where members that depend on the rows and a seed alone are fitted: in this process, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Grower(Protocol):
    """Fits members to the rows of a fit; a seed determines a member."""

    @property
    def samples(self) -> Any:
        """How the sample of a seed is drawn."""
        ...

    @property
    def fingerprint(self) -> tuple[Any, ...]:
        """Identifies the rows for warm starts."""
        ...

    def grow(self, seeds: Sequence[int], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Fit a member for each seed; the rounds come in the order of the seeds."""
        ...

    def replay(self, members: Sequence[Any], seeds: Sequence[int], /) -> Iterator[Any]:
        """What members that were fitted with these seeds give for the rows outside their samples."""
        ...
