"""PTX, NVIDIA's assembly language: read, checked and written, with nothing lost on the way, and run.

`Module`, which runs it, is imported when it is asked for; it stands among the doors (`weft.cuda.ptx.module`). So is
`spill`, which allocates registers (`weft.spill.module`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """The door, imported when it is asked for."""
    if name == "Module":
        return import_module("weft.cuda.ptx.module").Module
    if name == "spill":
        return import_module("weft.spill.module").spill
    raise AttributeError(f"module 'weft.ptx' has no attribute '{name}'")
