"""What a kernel's memory accesses and stack objects need after linearization (columns of Moll, Fig. 13.1)."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from msgspec import Struct, field

from weft.analysis.divergence import Divergence
from weft.ir import TRUE, BasicBlock, Function


class Mask(StrEnum):
    """Under which condition an access runs."""

    NONE = "none"
    """Always: by all threads of a whole lane group."""
    UNIFORM = "uniform"
    """By all of them or by none."""
    VARYING = "varying"
    """By some."""


class MemoryStatistics(Struct):
    """Counts over the instructions of a function.

    Parameters
    ----------
    loads, stores
        By mask.
    forms
        Of loads and stores, by how lanes access memory together.
    uniform_objects, varying_objects
        Stack objects that all threads share one copy of, and those with a copy for each.
    """

    loads: Counter[Mask] = field(default_factory=Counter)
    stores: Counter[Mask] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    uniform_objects: int = 0
    varying_objects: int = 0


def memory_statistics(function: Function, divergence: Divergence) -> MemoryStatistics:
    """Count in control-uniform P-LLVM."""
    statistics = MemoryStatistics()
    for block in function.blocks:
        mask = _mask_of(block, divergence)
        for instruction in block.instructions:
            if instruction.op == "alloca":
                if divergence.is_uniform(instruction):
                    statistics.uniform_objects += 1
                else:
                    statistics.varying_objects += 1
            elif instruction.is_plain_access:
                (statistics.loads if instruction.op == "load" else statistics.stores)[mask] += 1
                statistics.forms[divergence.access_form(instruction).form.value] += 1
    return statistics


def _mask_of(block: BasicBlock, divergence: Divergence) -> Mask:
    if block.predicate is None or block.predicate == TRUE:
        return Mask.NONE
    return Mask.UNIFORM if divergence.is_uniform(block.predicate) else Mask.VARYING
