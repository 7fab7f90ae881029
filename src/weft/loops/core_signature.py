"""Core signatures of generalized ufuncs: ``"(m,n),(n)->(m)"``."""

from __future__ import annotations

import re

from msgspec import Struct

from weft.diag.errors import SignatureError

_ARGUMENT = re.compile(r"\s*\(([^()]*)\)\s*")
_HINT = 'for example "(m,n),(n)->(m)"; () is a number'


class CoreSignature(Struct, frozen=True):
    """The dimensions that the function itself works on: a tuple of names for each argument and each result."""

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return "->".join(
            ",".join(f"({','.join(dims)})" for dims in side) for side in (self.inputs, self.outputs)
        )


def parse_core_signature(text: str) -> CoreSignature:
    """Read a core signature.

    Raises
    ------
    SignatureError
        It is none, or a dimension of a result is not one of an argument.
    """
    left, arrow, right = text.partition("->")
    if not arrow:
        raise SignatureError(f"the core signature {text!r} has no ->", hint=_HINT)
    signature = CoreSignature(_arguments(left, text), _arguments(right, text))
    known = {name for dims in signature.inputs for name in dims}
    for dims in signature.outputs:
        for name in dims:
            if name not in known:
                raise SignatureError(f"the size of dimension {name!r} in {text!r} follows from no argument")
    return signature


def _arguments(text: str, whole: str) -> tuple[tuple[str, ...], ...]:
    found: list[tuple[str, ...]] = []
    position = 0
    while position < len(text):
        match = _ARGUMENT.match(text, position)
        if match is None:
            raise SignatureError(
                f"the core signature {whole!r} cannot be read at {text[position:]!r}", hint=_HINT
            )
        names = tuple(name.strip() for name in match[1].split(",")) if match[1].strip() else ()
        if not all(name.isidentifier() for name in names):
            raise SignatureError(f"the core signature {whole!r} has dimensions without a name", hint=_HINT)
        found.append(names)
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise SignatureError(
                    f"the core signature {whole!r} lacks a comma before {text[position:]!r}", hint=_HINT
                )
            position += 1
    if not found:
        raise SignatureError(f"the core signature {whole!r} has a side without arguments", hint=_HINT)
    return tuple(found)
