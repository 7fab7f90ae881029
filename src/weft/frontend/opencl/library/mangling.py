"""Names of overloaded builtins, as clang writes them: the part of the Itanium scheme that OpenCL C needs.

``_Z5fractDv4_fPU3AS1S_`` is ``fract(float4, global float4 *)``. A type that was written before may be abbreviated
(``S_``, ``S0_``, ...); read, each type is written out.
"""

from __future__ import annotations

import re

from msgspec import Struct

_SCALARS = {
    "c": "i8", "a": "i8", "h": "i8", "s": "i16", "t": "i16", "i": "i32", "j": "i32", "l": "i64", "m": "i64",
    "f": "float", "d": "double", "Dh": "half",
}  # fmt: skip
"""Codes of the scalar types, and what they are in LLVM."""

_NAME = re.compile(r"_Z(\d+)")
_QUALIFIERS = re.compile(r"(?:U3AS\d|[VK])+")
_VECTOR = re.compile(r"Dv(\d+)_")
_SUBSTITUTION = re.compile(r"S([0-9A-Z]*)_")


class Overload(Struct, frozen=True):
    """A function by its name and the types of its parameters, as codes that are written out."""

    name: str
    parameters: tuple[str, ...]


class ParameterType(Struct, frozen=True):
    """What is known of a parameter's type.

    Parameters
    ----------
    element
        The scalar type in LLVM; of what a pointer points to where it is one.
    code
        The scalar type's code.
    width
        Elements of the vector; 1 for a scalar.
    qualifiers
        What stands between the pointer's ``P`` and what it points to; None for a value.
    """

    element: str
    code: str
    width: int
    qualifiers: str | None = None

    @property
    def llvm(self) -> str:
        """The type in LLVM."""
        if self.qualifiers is not None:
            space = re.search(r"AS(\d)", self.qualifiers)
            return f"ptr addrspace({space[1]})" if space else "ptr"
        return self.element if self.width == 1 else f"<{self.width} x {self.element}>"

    @property
    def scalar_code(self) -> str:
        """The code of the type with one element."""
        return self.code if self.qualifiers is None else f"P{self.qualifiers}{self.code}"


def builtin_name(symbol: str) -> str | None:
    """Return the name in a symbol, whatever its parameters are; None where it has none.

    >>> builtin_name("_Z5fractDv4_fPU3AS1S_")
    'fract'
    """
    found = _NAME.match(symbol)
    return symbol[found.end() : found.end() + int(found[1])] if found is not None else None


def demangle(symbol: str) -> Overload | None:
    """Return the overload that a symbol names; None where it is not the name of a builtin.

    >>> demangle("_Z5fractDv4_fPU3AS1S_")
    Overload(name='fract', parameters=('Dv4_f', 'PU3AS1Dv4_f'))
    """
    found = _NAME.match(symbol)
    if found is None:
        return None
    start = found.end()
    end = start + int(found[1])
    types = _Types(symbol[end:])
    parameters: list[str] = []
    while types.rest:
        parameter = types.read()
        if parameter is None:
            return None
        parameters.append(parameter)
    return Overload(symbol[start:end], tuple(p for p in parameters if p != "v"))


def mangle(name: str, parameters: tuple[str, ...]) -> str:
    """Return the symbol of an overload whose parameters are scalars and at most one pointer to one.

    >>> mangle("fract", ("f", "PU3AS1f"))
    '_Z5fractfPU3AS1f'
    """
    return f"_Z{len(name)}{name}{''.join(parameters) or 'v'}"


def parameter_type(code: str) -> ParameterType | None:
    """Return what a parameter's code says; None for structures, enumerations and images.

    >>> parameter_type("PU3AS1Dv4_f").llvm, parameter_type("Dv3_Dh").llvm
    ('ptr addrspace(1)', '<3 x half>')
    """
    qualifiers = None
    if code.startswith("P"):
        found = _QUALIFIERS.match(code, 1)
        qualifiers = found[0] if found else ""
        code = code[1 + len(qualifiers) :]
    width = 1
    if found := _VECTOR.match(code):
        width, code = int(found[1]), code[found.end() :]
    if code not in _SCALARS:
        return None
    return ParameterType(_SCALARS[code], code, width, qualifiers)


class _Types:
    """Reads types one by one and remembers those that may be abbreviated later."""

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self._seen: list[str] = []

    def read(self) -> str | None:
        """The next type, written out; None where it is of no known kind."""
        rest = self.rest
        for code in ("v", "b", *_SCALARS):
            if rest.startswith(code):
                self.rest = rest[len(code) :]
                return code
        if found := _SUBSTITUTION.match(rest):
            self.rest = rest[found.end() :]
            number = 0 if not found[1] else int(found[1], 36) + 1
            return self._seen[number] if number < len(self._seen) else None
        if found := re.match(r"\d+", rest):
            end = found.end() + int(found[0])
            return self._remember(rest[:end], rest[end:])
        for prefix in (_VECTOR, re.compile("U7_Atomic"), _QUALIFIERS, re.compile("P")):
            if found := prefix.match(rest):
                self.rest = rest[found.end() :]
                inner = self.read()
                return None if inner is None else self._remember(found[0] + inner, self.rest)
        return None

    def _remember(self, code: str, rest: str) -> str:
        self.rest = rest
        self._seen.append(code)
        return code
