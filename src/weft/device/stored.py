"""What is known of a program's kernels and variables, as the compile cache keeps it."""

from __future__ import annotations

from typing import Any

from weft.frontend.device.memory import Scope
from weft.frontend.device.metadata import ArgumentInfo, KernelInfo, Passing


def scope_row(scope: Scope) -> list[Any]:
    """A program's variables, for `scope_from`."""
    return [dict(scope.offsets), scope.data.hex(), scope.pointers]


def scope_from(row: list[Any]) -> Scope:
    """What `scope_row` has written."""
    offsets, data, pointers = row
    return Scope(offsets, bytes.fromhex(data), tuple((a, b) for a, b in pointers))


def kernel_from(row: dict[str, Any]) -> KernelInfo:
    """What ``msgspec.to_builtins`` has made of a kernel."""
    three = {key: tuple(row[key]) if row[key] else None for key in ("required_size", "size_hint")}
    return KernelInfo(**{**row, **three, "arguments": tuple(_argument(a) for a in row["arguments"])})


def _argument(row: dict[str, Any]) -> ArgumentInfo:
    fields = tuple((at, code) for at, code in row["fields"])
    changed = {"passing": Passing(row["passing"]), "qualifiers": tuple(row["qualifiers"]), "fields": fields}
    return ArgumentInfo(**{**row, **changed})
