"""LLVM's text for functions of all lanes of a vector, or of a number by itself."""

from __future__ import annotations

NAME = "weft.ordinary."
"""How names of functions begin that are defined for vectors of which most are ordinary."""

_TYPES = {32: "float", 64: "double"}


class Lines:
    """How types and functions are written for so many lanes; 0 for a number by itself."""

    __slots__ = ("bits", "lanes", "needed")

    def __init__(self, bits: int, lanes: int, needed: dict[str, str]) -> None:
        self.bits, self.lanes, self.needed = bits, lanes, needed

    def type(self, element: str) -> str:
        return f"<{self.lanes} x {element}>" if self.lanes else element

    @property
    def float(self) -> str:
        return self.type(_TYPES[self.bits])

    @property
    def suffix(self) -> str:
        return f"v{self.lanes}f{self.bits}" if self.lanes else f"f{self.bits}"

    def constant(self, value: str) -> str:
        """A float of the type, written in hexadecimal digits as LLVM wants it."""
        return f"splat ({_TYPES[self.bits]} {value})" if self.lanes else value

    def all(self, fine: str) -> str:
        """Lines for ``%all``: whether a condition holds in all lanes."""
        if not self.lanes:
            return f"  %all = freeze i1 {fine}"
        return f"""\
  %fine.frozen = freeze {self.type("i1")} {fine}
  %bits = bitcast {self.type("i1")} %fine.frozen to i{self.lanes}
  %all = icmp eq i{self.lanes} %bits, -1"""

    def call(self, name: str, *arguments: str) -> str:
        """A call of an intrinsic on floats of the type."""
        whole = f"{name}.{self.suffix}"
        self.needed[whole] = f"declare {self.float} @{whole}({', '.join([self.float] * len(arguments))})"
        return f"call {self.float} @{whole}({', '.join(f'{self.float} {a}' for a in arguments)})"
