"""Counters of a launch, by name and unit, with the sums and means that Nsight Compute writes behind a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model.schema import near

Units = npt.NDArray[np.uint64]  # one value a unit

_ROLLUPS: dict[str, Callable[[Any], Any]] = {"sum": np.sum, "avg": np.mean, "max": np.max, "min": np.min}


class Counters(Mapping[str, float]):
    """`counters["lts__t_sectors.sum"]`; also `.avg`, `.max` and `.min` over the units that count. Iterates over the sums.

    `by_unit[name]`: one value for each unit (SM, sub-core, L2 slice, DRAM channel...); `unit_of[name]`: which kind of unit that is.
    """

    def __init__(self, by_unit: Mapping[str, Units], unit_of: Mapping[str, str], single: Mapping[str, float]) -> None:
        self.by_unit, self.unit_of = by_unit, unit_of
        self._single = single  # whole names of figures that are no sum over units

    def __getitem__(self, name: str) -> float:
        """Raises KeyError with the nearest names."""
        if name in self._single:
            return self._single[name]
        base, _, rollup = name.rpartition(".")
        if base in self.by_unit and rollup in _ROLLUPS:
            return _plain(_ROLLUPS[rollup](self.by_unit[base]))
        raise KeyError(f"no counter '{name}'{near(name, self)}")

    def __iter__(self) -> Iterator[str]:
        yield from self._single
        yield from (f"{name}.sum" for name in self.by_unit)

    def __len__(self) -> int:
        return len(self._single) + len(self.by_unit)


def _plain(value: Any) -> float:
    """A Python int where the value is whole, for JSON and exact comparisons."""
    number = value.item()
    return number if isinstance(number, int) else float(number)
