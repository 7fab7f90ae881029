"""Arguments of launches, and the types that signatures give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.cuda.transfers import host_value
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import KernelType, Signature

Types = tuple[KernelType, ...]


def types_of(signature: Any) -> Types:
    """The argument types that a signature in any notation stands for."""
    parsed = parse_signature(signature)
    return parsed.args if isinstance(parsed, Signature) else tuple(parsed)


def host_values(args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with arrays of every kind replaced by the NumPy arrays they stand for."""
    return tuple([host_value(a) for a in args])
