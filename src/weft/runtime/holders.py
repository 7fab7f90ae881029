"""Classes whose objects hold another one, where machine code may look for it."""

from __future__ import annotations

import ctypes
import sys

from msgspec import Struct


class Holder(Struct, frozen=True):
    """A class whose objects hold another one, and at which byte of them it is."""

    cls: type
    place: int


def holder_of(probe: object, held: object) -> Holder | None:
    """The class of an object as one that holds what this one does; None where the place cannot be told."""
    if sys.implementation.name != "cpython":
        return None
    cls = type(probe)
    places = range(object.__basicsize__, cls.__basicsize__, ctypes.sizeof(ctypes.c_void_p))
    found = [k for k in places if ctypes.c_void_p.from_address(id(probe) + k).value == id(held)]
    return Holder(cls, found[0]) if len(found) == 1 else None
