"""P-LLVM, weft's program representation: LLVM IR with block predicates, shadow φs and total instructions.

The names most users of the room need; each module's docstring has the rest.
"""

from weft.ir.block import BasicBlock
from weft.ir.builder import Builder, const_float, const_int
from weft.ir.constants import (
    FALSE,
    TRUE,
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstSplat,
    ConstZero,
    InlineAsm,
    Poison,
    Undef,
    zero_of,
)
from weft.ir.function import Function, GlobalVariable, Module
from weft.ir.instruction import Instruction
from weft.ir.metadata import DbgRecord, DebugLoc, MDNode, MDString, MDTuple, MDValue
from weft.ir.opcodes import OPCODES, Opcode
from weft.ir.values import Argument, Value

__all__ = [
    "FALSE",
    "OPCODES",
    "TRUE",
    "Argument",
    "BasicBlock",
    "Builder",
    "ConstAggregate",
    "ConstBytes",
    "ConstExpr",
    "ConstFloat",
    "ConstInt",
    "ConstNull",
    "ConstSplat",
    "ConstZero",
    "Constant",
    "DbgRecord",
    "DebugLoc",
    "Function",
    "GlobalVariable",
    "InlineAsm",
    "Instruction",
    "MDNode",
    "MDString",
    "MDTuple",
    "MDValue",
    "Module",
    "Opcode",
    "Poison",
    "Undef",
    "Value",
    "const_float",
    "const_int",
    "zero_of",
]
