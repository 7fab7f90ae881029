"""Where spilled values are: places with their offsets, and the memory that they take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from weft.ptx.regalloc.places import Affine, Constant, LocalSlot, Place, ThreadSlot, WarpBase, WarpSlot
from weft.spill.kernel import Kernel
from weft.spill.layout import SharedLayout, offsets
from weft.spill.policies import Choice, Row


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything is.

    Parameters
    ----------
    places
        For each spilled value.
    shared
        Where slots are in shared memory.
    local
        Bytes of local memory.
    """

    places: dict[str, Place]
    shared: SharedLayout
    local: int


def draft(choice: Choice, per_thread: bool) -> Place:
    """The place of a value, its offset left open; `per_thread` if it has words of each thread in shared memory."""
    match choice.row:
        case Row.CONSTANT:
            return Constant(choice.constant)
        case Row.AFFINE:
            return Affine(choice.factors, choice.constant)
        case Row.UNIFORM:
            return WarpSlot(0)
        case Row.AFFINE_BASE:
            return WarpBase(0, choice.factors)
        case Row.OTHER:
            return ThreadSlot((0, 0)) if per_thread else LocalSlot(0)


def place_all(kernel: Kernel, choices: Mapping[str, Choice], per_thread: Collection[str]) -> Placement:
    """Give each spilled value its place; those of `per_thread` have words of each thread in shared memory."""
    shared = [n for n, c in choices.items() if c.row in (Row.UNIFORM, Row.AFFINE_BASE)]
    threads = [n for n in choices if n in per_thread]
    local = [n for n, c in choices.items() if c.row is Row.OTHER and n not in per_thread]
    at_shared, warp_bytes = offsets([kernel.values[n].bits // 8 for n in shared])
    at_local, local_bytes = offsets([kernel.values[n].bits // 8 for n in local])
    words = sum(max(1, kernel.values[n].bits // 32) for n in threads)
    layout = SharedLayout(kernel.threads, warp_bytes, words)
    places: dict[str, Place] = {n: draft(c, n in per_thread) for n, c in choices.items()}
    for name, offset in zip(shared, at_shared, strict=True):
        row = choices[name]
        places[name] = WarpBase(offset, row.factors) if row.factors else WarpSlot(offset)
    for name, offset in zip(local, at_local, strict=True):
        places[name] = LocalSlot(offset)
    word = 0
    for name in threads:
        count = max(1, kernel.values[name].bits // 32)
        places[name] = ThreadSlot(tuple(layout.word(word + k) for k in range(count)))
        word += count
    return Placement(places, layout, local_bytes)
