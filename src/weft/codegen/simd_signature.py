"""How a function for W lanes is called: which arguments are one for all lanes, and whether it takes a mask.

Named after the x86 vector function ABI: ``_ZGV``, a letter for the instruction set, ``M`` or ``N`` for masked or not,
the lanes, a letter for each parameter, ``_`` and the scalar function's name. Parameters are ``v`` (a vector), ``u``
(uniform) or ``l`` with a step (the value in lane 0 of one that grows by the step from lane to lane; bytes for
pointers, ``n`` before a negative one, nothing for 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.types import I1, FunctionType, Type, VectorType
from weft.machine.targets import Isa

VARYING: None = None
UNIFORM = 0

_ISA_LETTERS = {"sse2": "b", "sse4": "b", "avx2": "d", "avx512": "e", "neon": "n"}


@dataclass(frozen=True, slots=True)
class SimdSignature:
    """The shapes for which a function is vectorized.

    Parameters
    ----------
    lanes
        W.
    steps
        Of each parameter by how much it grows from lane to lane: 0 where it is uniform, None where it varies.
    masked
        Whether it is called for a part of the lanes too; the mask then is the last argument, a vector of i1.
    """

    lanes: int
    steps: tuple[int | None, ...]
    masked: bool

    @property
    def general(self) -> SimdSignature:
        """The signature that serves every call: all parameters vary, under a mask."""
        return SimdSignature(self.lanes, (VARYING,) * len(self.steps), True)

    def name(self, function: str, isa: Isa) -> str:
        """The name of the version of `function`."""
        parameters = "".join(map(_letter, self.steps))
        mask = "M" if self.masked else "N"
        return f"_ZGV{_ISA_LETTERS.get(isa.name, '_unknown_')}{mask}{self.lanes}{parameters}_{function}"

    def function_type(self, scalar: FunctionType, uniform_result: bool) -> FunctionType:
        """The type of the version of a function of type `scalar`."""
        params = [
            VectorType(type, self.lanes) if step is None else type
            for type, step in zip(scalar.params, self.steps, strict=True)
        ]
        if self.masked:
            params.append(VectorType(I1, self.lanes))
        result = scalar.result
        if not (result.is_void or uniform_result):
            result = VectorType(result, self.lanes)
        return FunctionType(result, tuple(params))


def fits(params: Sequence[Type]) -> bool:
    """Whether parameters or results of these types can be one or one for each lane."""
    return not any(t.is_vector or t.is_aggregate for t in params)


def _letter(step: int | None) -> str:
    if step is None:
        return "v"
    if step == UNIFORM:
        return "u"
    size = str(abs(step)) if abs(step) != 1 else ""
    return f"ln{size}" if step < 0 else f"l{size}"
