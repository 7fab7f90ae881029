"""Code that is emitted only to see which type a value has, and thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.ir.block import BasicBlock

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@contextmanager
def sampling(low: Lowering) -> Iterator[None]:
    """Emit to blocks that the function does not keep."""
    block, count = low.builder.block, len(low.function.blocks)
    sample = BasicBlock("sample", low.function)
    low.builder.at_end(sample)
    try:
        yield
    finally:
        low.builder.block = block
        for dropped in (sample, *low.function.blocks[count:]):
            for instruction in dropped.instructions:
                instruction.drop_operands()
        del low.function.blocks[count:]
