"""Exponentials of floats as CUDA's `expf` is written out, which are computed as such.

    n = sat(x * 0.0057 + 0.5) * 252 + 12582913, rounded down      # 126 + x * log2 e, rounded, in the last bits
    f = x * 1.4427 - (n - 12583039) + x * 1.9e-8                  # what is left of x * log2 e
    ex2.approx.ftz(f) * (n << 23)

Each of these steps is exact but for the last, whose function PTX approximates. As everywhere, it is computed as exactly
as the type allows (`weft.ptx.lift.floats`): as one function of x, which processors compute in half of the steps.

The steps have to be in one block, and what they start from is still in its register where the product is; constants are
those of `weft.ptx.lift.known_floats`. The product may be a part of a fused sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.ptx import syntax
from weft.ptx.lift.known_floats import Range, range_of
from weft.ptx.registers import writes

_PRODUCTS = {"mul": (("f32",), ("rn", "f32")), "fma": (("rn", "f32"),)}
_SCALE, _HALF = 0.005724980030208826, 0.5
_OCTAVES, _SHIFTED, _BACK = 252.0, 12582913.0, -12583039.0
_LOG2_E, _LOG2_E_REST = 1.4426950216293335, 1.925963033500011e-08


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What an instruction computes, of what was in registers then: other steps, or names of registers from before."""

    instruction: syntax.Instruction
    sources: tuple[_Step | str | None, ...]


def written_exponentials(function: syntax.Function, known: dict[str, Range]) -> dict[int, syntax.Register]:
    """Instructions whose product is an exponential, by identity, and of what it is one."""
    found: dict[int, syntax.Register] = {}
    now: dict[str, _Step | str] = {}
    for statement in function.body or []:
        if isinstance(statement, syntax.Label):
            now = {}
        if not isinstance(statement, syntax.Instruction):
            continue
        step = _Step(statement, tuple(_source(operand, now) for operand in statement.operands))
        if statement.modifiers in _PRODUCTS.get(statement.opcode, ()):
            for k in (1, 2):
                x = _Exponential(known).argument(step.sources[k], step.sources[3 - k])
                if x is not None and now.get(x[0].name, x[0].name) == x[1]:
                    found[id(statement)] = x[0]
        for name in writes(statement):
            now[name] = step
    return found


def _source(operand: syntax.Operand, now: dict[str, _Step | str]) -> _Step | str | None:
    if isinstance(operand, syntax.Register) and not operand.component:
        return now.get(operand.name, operand.name)
    return None


@dataclass(frozen=True, slots=True)
class _Exponential:
    """Finds the steps."""

    known: dict[str, Range]

    def argument(
        self, power: _Step | str | None, scale: _Step | str | None
    ) -> tuple[syntax.Register, _Step | str] | None:
        """The register that held what the exponential is of, and what it held."""
        ex2 = _as(power, "ex2", "approx", "ftz", "f32")
        word = _as(scale, "mov", "b32")
        if ex2 is None or word is None:
            return None
        shifted = _as(word.sources[1], "shl", "b32")
        bits = _as(shifted.sources[1], "mov", "b32") if shifted is not None else None
        if shifted is None or bits is None or not _is_integer(shifted.instruction.operands[2], 23):
            return None
        whole = _as(bits.sources[1], "fma", "rm", "f32")
        if whole is None or not self._is(whole, 3, _SHIFTED):
            return None
        for x, rest in self._times(_as(ex2.sources[1], "fma", "rn", "f32"), _LOG2_E_REST):
            for y, less in self._times(_as(rest.sources[3], "fma", "rn", "f32"), _LOG2_E):
                if not self._is_less(less.sources[3], whole):
                    continue
                for part, _ in self._times(whole, _OCTAVES):
                    if y == x and self._is_part(whole.sources[part[0]], x[1]):
                        operand = rest.instruction.operands[x[0]]
                        assert isinstance(operand, syntax.Register) and x[1] is not None
                        return operand, x[1]
        return None

    def _times(
        self, step: _Step | None, constant: float
    ) -> Iterator[tuple[tuple[int, _Step | str | None], _Step]]:
        """Which factor of a product is no constant, and what it is, where the other one is such a constant."""
        if step is None:
            return
        for k in (1, 2):
            if self._is(step, 3 - k, constant) and step.sources[k] is not None:
                yield (k, step.sources[k]), step

    def _is(self, step: _Step, k: int, constant: float) -> bool:
        return range_of(step.instruction.operands[k], self.known) == (constant, constant)

    def _is_less(self, source: _Step | str | None, whole: _Step) -> bool:
        """Whether it is the negative of what lies behind the shift."""
        negated = _as(source, "neg", "f32")
        back = _as(negated.sources[1], "add", "f32") if negated is not None else None
        return back is not None and back.sources[1] is whole and self._is(back, 2, _BACK)

    def _is_part(self, source: _Step | str | None, x: _Step | str | None) -> bool:
        """Whether it is x in parts of the range of exponents, between 0 and 1."""
        part = _as(source, "cvt", "sat", "f32", "f32")
        scaled = _as(part.sources[1], "fma", "rn", "f32") if part is not None else None
        if scaled is None or not self._is(scaled, 3, _HALF):
            return False
        return any(found[1] == x for found, _ in self._times(scaled, _SCALE))


def _as(source: _Step | str | None, opcode: str, *modifiers: str) -> _Step | None:
    """A step of such an instruction that runs in any case."""
    if not isinstance(source, _Step):
        return None
    i = source.instruction
    return source if i.opcode == opcode and i.modifiers == modifiers and i.guard is None else None


def _is_integer(operand: syntax.Operand, value: int) -> bool:
    return isinstance(operand, syntax.Integer) and operand.value == value
