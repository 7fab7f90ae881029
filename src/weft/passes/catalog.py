"""All lists of passes, and passes by name: what ``weft passes`` shows and ``weft opt`` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.codegen.lanes.lane_passes import LANES
from weft.codegen.lanes.plain_passes import BY_POLICY, GUESSED_RANGES, NARROWING
from weft.diag.errors import PassError
from weft.passes.declared import Pass, PassList
from weft.passes.foreign import FOREIGN_FUNCTIONS, FOREIGN_LOOPS, INLINING, SIGNATURES
from weft.passes.kernel_threads import WORK_ITEMS
from weft.passes.kernels import KERNELS
from weft.passes.loops import LOOPS
from weft.passes.scalar import (
    AGGREGATES,
    CANONICAL,
    CHOICES,
    COPIED_RUNS,
    COUNTER_BANKS,
    COUNTS_AHEAD,
    FILLED_RUNS,
    FILLS,
    GROUP_ATOMICS,
    INVARIANTS,
    MEETING_STORES,
    NEXT_PLACES,
    PARTED_LOADS,
    READS_AHEAD,
    ROLLED_LOOPS,
    SET_TESTS,
    SINGLE_LANE,
    VOTED_BITS,
    WIDE_MASKS,
    WRITTEN_BACK,
    ScalarUnit,
)
from weft.passes.scalar_numbers import (
    BFLOAT_WORDS,
    EXCHANGE_LOOPS,
    FUSED_SUMS,
    INVERSE_ROOTS,
    KNOWN_EXTREMA,
    KNOWN_NUMBERS,
    LIKELY_CONVERSIONS,
    NARROW_PHIS,
    SHORT_CONVERSIONS,
    WIDE_ADDRESSES,
    WIDE_COMPARISONS,
)
from weft.transform.groups.work_items import lower_work_items

LISTS = (KERNELS, LOOPS, FOREIGN_LOOPS, FOREIGN_FUNCTIONS)
"""What runs for each kind of program."""


def _lower_work_items(unit: ScalarUnit) -> None:
    lower_work_items(unit.module, unit.function)


ON_MODULES: tuple[Pass[Any], ...] = (
    SIGNATURES,
    INLINING,
    CANONICAL,
    AGGREGATES,
    Pass(WORK_ITEMS.name, WORK_ITEMS.promise, _lower_work_items, source=WORK_ITEMS.source),
    BFLOAT_WORDS,
    EXCHANGE_LOOPS,
    SHORT_CONVERSIONS,
    KNOWN_NUMBERS,
    NARROW_PHIS,
    MEETING_STORES,
    PARTED_LOADS,
    SET_TESTS,
    WIDE_COMPARISONS,
    INVARIANTS,
    FILLED_RUNS,
    FILLS,
    COPIED_RUNS,
    SINGLE_LANE,
    READS_AHEAD,
    WRITTEN_BACK,
    CHOICES,
    COUNTS_AHEAD,
    COUNTER_BANKS,
    WIDE_ADDRESSES,
    INVERSE_ROOTS,
    KNOWN_EXTREMA,
    FUSED_SUMS,
    WIDE_MASKS,
    VOTED_BITS,
    LIKELY_CONVERSIONS,
    NEXT_PLACES,
    ROLLED_LOOPS,
    GROUP_ATOMICS,
)
"""Passes that run on a module by itself."""

ON_LANES: tuple[Pass[Any], ...] = (GUESSED_RANGES, NARROWING, *BY_POLICY, *LANES)
"""Passes that run on a function and the lanes that are to run it."""


def passes_named(names: Iterable[str]) -> list[Pass[Any]]:
    """The passes with these names, as they are written in commands.

    Raises
    ------
    PassError
        There is none of a name.
    """
    known = {each.flag: each for each in (*ON_MODULES, *ON_LANES)}
    found: list[Pass[Any]] = []
    for name in names:
        each = known.get(name.replace("phis", "φs"))
        if each is None:
            raise PassError(
                f"there is no pass {name!r} that runs by itself", hint=f"there are {', '.join(known)}"
            )
        found.append(each)
    return found


def list_named(name: str) -> PassList | None:
    """The list with this name, as it is written in commands; None if there is none."""
    return next((each for each in LISTS if each.name.replace(" ", "-") == name), None)


def known_names() -> set[str]:
    """The names of all passes, in a list or by themselves, as they are written in commands."""
    listed = {each.flag for passes in LISTS for _, each in passes.walk()}
    return listed | {each.flag for each in (*ON_MODULES, *ON_LANES)}
