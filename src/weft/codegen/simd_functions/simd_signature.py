"""How a function for W lanes is called: which arguments are one for all lanes, and whether it takes a mask.

Such are SIMD declarations (Moll, §3.3). Functions are named by the vector function ABI (`weft.machine.vector_abi`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.ir.types import I1, FunctionType, Type, VectorType
from weft.machine.targets import Isa
from weft.machine.vector_abi import VectorParameter, vector_name

VARYING: None = None
UNIFORM = 0


class SimdSignature(Struct, frozen=True):
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
        """The name of the SIMD function of `function`."""
        parameters = [VectorParameter(step) for step in self.steps]
        return vector_name(isa, self.masked, self.lanes, parameters, function)

    def function_type(self, scalar: FunctionType, uniform_result: bool) -> FunctionType:
        """The type of the SIMD function of a function of type `scalar`."""
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
