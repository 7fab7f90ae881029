"""What kernels and the host are given, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Nest
from weft.loops.emission.parameters import ArrayParameter, NumberParameter
from weft.loops.emission.subscripts import Shape
from weft.loops.emission.tree import Argument, Statement, names_of, written_in

HINT = "the report says what the loop does (weft loops without --emit)"


class Target(Struct, frozen=True):
    """The language, and what is known of the arrays of a function.

    Parameters
    ----------
    shapes
        Their dimensions, for languages that have them.
    unsigned
        Whether they are of unsigned integers, where that is known and `shapes` does not say it.
    has_signed_overflow
        Whether the language defines what signed numbers are that leave their width.
    keeps_numbers
        Whether kernels are given what floats were computed before them, as a host that computes has them.
    """

    shapes: Mapping[str, Shape]
    unsigned: Mapping[str, bool]
    has_signed_overflow: bool
    keeps_numbers: bool = False

    def parts(self, nest: Nest, reserved: Iterable[str] = ()) -> KernelParts:
        """A kernel of a nest that is to be made; nothing of the program gets names that are reserved."""
        return KernelParts(
            nest, self.shapes, HINT, dict(self.unsigned), reserved, self.has_signed_overflow, self.keeps_numbers
        )  # fmt: skip


def arguments_of(
    parts: KernelParts, body: Sequence[Statement], buffers: Sequence[Argument] = ()
) -> tuple[Argument, ...]:
    """What a kernel takes: the parameters that it names, in the order of the program, and buffers."""
    stems = {name.split(".")[0] for name in names_of(body)}
    written = written_in(body)
    found = [_argument(p, written) for p in _parameters(parts) if p.name in stems]
    return (*found, *buffers)


def host_arguments(parts: KernelParts) -> tuple[Argument, ...]:
    """What the host is given, in the order of the program."""
    return tuple(_argument(p, set()) for p in _parameters(parts))


def told_of(parts: KernelParts) -> tuple[str, ...]:
    """What parameters are that have other names than in the program."""
    found: list[str] = []
    for p in _parameters(parts):
        if isinstance(p, NumberParameter) and p.text != p.name:
            before = " before the loop" if p.text in parts.variables.names.values() else ""
            found.append(f"`{p.name}` is {p.text}{before}.")
        if isinstance(p, ArrayParameter) and p.base.name.split(".")[0] != p.name:
            found.append(f"`{p.name}` is {p.base.name}.")
    return tuple(found)


def lines_of(nest: Nest) -> str:
    """The lines of the program that a kernel is made of, and their file."""
    lines = {i.loc.line for b in nest.loop.blocks for i in b.instructions if i.loc is not None and i.loc.line}
    low, high = (min(lines), max(lines)) if lines else (nest.report.line, nest.report.line)
    where = f"line {low}" if low == high else f"lines {low} to {high}"
    return f"{where} of {nest.report.file.rpartition('/')[2]}"


def assumptions_of(nest: Nest) -> tuple[str, ...]:
    """What a kernel rests on, as sentences."""
    return tuple(f"It is assumed that {t}." for t in nest.assumptions)


def _parameters(parts: KernelParts) -> list[ArrayParameter | NumberParameter]:
    found: list[ArrayParameter | NumberParameter] = [*parts.arrays.values(), *parts.numbers.values()]
    return sorted(found, key=lambda p: p.order)


def _argument(parameter: ArrayParameter | NumberParameter, written: set[str]) -> Argument:
    if isinstance(parameter, NumberParameter):
        return Argument(parameter.name, parameter.type, "s", False)
    is_written = parameter.name in written
    return Argument(parameter.name, parameter.element, parameter.reading, True, is_written)
