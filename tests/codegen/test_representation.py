"""Which values are kept scalar is a matter of speed only: with every value a vector kernels mean the same."""

import pytest

from codegen.kernels import agree, kernel_text
from codegen.test_kernels import BODIES, DECLARED
from weft.analysis.divergence import Divergence
from weft.codegen.widen import widener
from weft.ir import Argument, Function, Value

NAMES = [
    "uniform load under a mask", "uniform store under a mask", "uniform division", "intrinsics", "powers",
    "select by a uniform condition", "stack object all threads treat alike", "uniform loop with strided values",
    "switch on a uniform value in a divergent branch", "two edges of a switch to one block",
    "uniform call that needs an active lane", "reversed masked", "gather and scatter",
]  # fmt: skip


_scalar_values = widener.scalar_values


def scalar_arguments(function: Function, divergence: Divergence, *switches: object) -> set[Value]:
    """The arguments only, whose form the caller decides."""
    return {v for v in _scalar_values(function, divergence) if isinstance(v, Argument)}


@pytest.mark.parametrize("name", NAMES)
def test_kernel_with_every_value_a_vector_agrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widener, "scalar_values", scalar_arguments)
    agree(kernel_text(BODIES[name], DECLARED), 8, None)
