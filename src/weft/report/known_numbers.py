"""What reports call code that is made for some numbers of a call (`weft.runtime.row_numbers`)."""

from __future__ import annotations

from collections.abc import Sequence

from weft.frontend.python.components import parameter_components
from weft.frontend.python.types import KernelType
from weft.runtime.row_numbers import slots_of_difference


def where_known(
    names: Sequence[str], types: Sequence[KernelType], known: Sequence[tuple[int, int | float]]
) -> str:
    """Words such as " where points.shape[1] is 3"; empty where nothing is known.

    Parameters
    ----------
    names, types
        The parameters of the Python function.
    known
        Slots of arguments, by number, and what is in them.
    """
    slots: list[str] = []
    for name, type in zip(names, types, strict=True):
        for component in parameter_components(type):
            item = "".join(f"[{i}]" for i in component.path)
            dimension = f".shape[{component.dim}]" if component.role == "extent" else ""
            slots.append(f"{name}{item}{dimension}")
    told = " and ".join(_told(slots, slot, number) for slot, number in known)
    return f" where {told}" if told else ""


def _told(slots: Sequence[str], slot: int, number: float) -> str:
    two = slots_of_difference(slot)
    return f"{slots[slot]} is {number}" if two is None else f"{slots[two[0]]} is {slots[two[1]]}"
