"""Weights of branches and choices: ``!prof``, by which LLVM places blocks and keeps values in registers."""

from __future__ import annotations

from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.metadata import MDString, MDTuple, MDValue
from weft.ir.types import I32

OFTEN = 2000
"""How many times as often a way is taken as one that hardly ever is."""


def weigh(branch: Instruction, first: int, second: int) -> None:
    """Say how often a branch, or a choice, goes its first way, and how often its second."""
    weights = [MDValue(ConstInt(I32, weight)) for weight in (first, second)]
    branch.set_metadata("prof", MDTuple([MDString("branch_weights"), *weights]))
