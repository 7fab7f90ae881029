"""Memory of a program's variables."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from weft.frontend.device.memory import Scope
from weft.runtime.array_memory import data_pointer


def scope_memory(scope: Scope) -> np.ndarray[Any, Any] | None:
    """Memory of a program's variables with what they hold at first; None where there are none."""
    if not scope.data:
        return None
    room = np.zeros(len(scope.data) + 128, np.uint8)
    start = -data_pointer(room) % 128
    memory = room[start : start + len(scope.data)]
    memory[:] = np.frombuffer(scope.data, np.uint8)
    base = data_pointer(memory)
    for place, target in scope.pointers:
        memory[place : place + 8] = np.frombuffer(struct.pack("@P", base + target), np.uint8)
    return memory
