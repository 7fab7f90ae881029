"""What a P-LLVM instruction becomes on a GPU: how many instructions, of which unit, and how many one after the other.

These are counts of machine code as compilers make it for current parts: 64-bit integers are two registers, a 64-bit
product four multiplications, a division a short program. An index costs one multiply-add, a constant one nothing.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Constant, Instruction
from weft.ir.intrinsics import PREFIX, IntrinsicKind, kind_of
from weft.ir.types import FloatType, IntType, Type, VectorType
from weft.machine.gpu_devices import Unit


class Weight(Struct, frozen=True):
    """What an instruction becomes.

    Parameters
    ----------
    unit, count
        So many instructions of a unit, each of which waits for the one before it in `chain` of them.
    special
        Instructions of the unit of special functions beside them.
    """

    unit: Unit
    count: int
    chain: int = 1
    special: int = 0


FREE = Weight(Unit.ALU, 0, 0)
_ONE = Weight(Unit.ALU, 1)

_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_FREE = frozenset(
    ("phi", "bitcast", "inttoptr", "ptrtoint", "addrspacecast", "freeze", "extractvalue", "insertvalue", "trunc",
     "alloca", "extractelement", "insertelement", "unreachable")
)  # fmt: skip
_CASTS = {"sitofp", "uitofp", "fptosi", "fptoui", "fptrunc", "fpext"}
_CONTROL = {"br": 1, "switch": 3, "ret": 1}
_FUNCTIONS = {"sqrt": (6, 1), "sin": (18, 2), "cos": (18, 2), "tan": (30, 2), "exp": (6, 1), "exp2": (4, 1),
              "exp10": (8, 1), "log": (10, 1), "log2": (8, 1), "log10": (10, 1), "pow": (30, 2)}  # fmt: skip
"""Instructions on floats, and special ones; other functions of mathematics count as `_OTHER_FUNCTION`."""
_OTHER_FUNCTION = (30, 1)
_SIMPLE_CALLS = ("fma", "fmuladd", "fabs", "copysign", "floor", "ceil", "trunc", "rint", "nearbyint", "minnum",
                 "maxnum", "minimum", "maximum", "minimumnum", "maximumnum")  # fmt: skip
_INTEGER_CALLS = ("abs", "smin", "smax", "umin", "umax", "ctpop", "ctlz", "cttz", "bitreverse", "bswap", "fshl",
                  "fshr", "fptosi", "fptoui")  # fmt: skip


def weight_of(instruction: Instruction) -> Weight:
    """What one instruction becomes."""
    op = instruction.op
    if op in _FREE:
        return FREE
    if op in ("load", "store", "atomicrmw", "cmpxchg"):
        return Weight(Unit.MEMORY, 1)
    if op in _CONTROL:
        return Weight(Unit.CONTROL, _CONTROL[op] if instruction.operands or op == "ret" else 0)
    if op == "getelementptr":
        variable = sum(not isinstance(index, Constant) for index in instruction.operands[1:])
        return Weight(Unit.ALU, variable, variable)
    if op == "call":
        return _call(instruction)
    if op in _CASTS:
        wide = _is_double(instruction.type) or _is_double(instruction.operands[0].type)
        return Weight(Unit.DOUBLE if wide else Unit.CONVERT, 1)
    if op in ("zext", "sext"):
        return _ONE if op == "sext" and _words(instruction.type) > 1 else FREE
    kind = instruction.operands[0].type if op in ("icmp", "fcmp") else instruction.type
    return _arithmetic(op, kind)


def _arithmetic(op: str, type: Type) -> Weight:
    scalar = type.scalar
    elements = type.count if isinstance(type, VectorType) else 1
    if isinstance(scalar, FloatType):
        if op in ("fdiv", "frem"):
            if _is_double(type):
                return Weight(Unit.DOUBLE, 12 * elements, 12, elements)
            return Weight(Unit.FLOAT, 8 * elements, 8, elements)
        return Weight(Unit.DOUBLE if _is_double(type) else Unit.FLOAT, elements)
    words = _words(scalar) * elements
    if op in _DIVISIONS:
        return Weight(Unit.ALU, 20 * words * words, 20 * words)
    if op == "mul":
        return Weight(Unit.ALU, words * words, words)
    return Weight(Unit.ALU, words, min(words, 2))


def _call(call: Instruction) -> Weight:
    name = call.callee_name or ""
    kind = kind_of(name)
    if kind is not None:
        return _own(name, kind)
    if not name.startswith("llvm."):
        return _function(name.removesuffix("f") if call.type.scalar is not None else name, call.type)
    base = name.split(".")[1]
    if base in _SIMPLE_CALLS:
        return Weight(Unit.DOUBLE if _is_double(call.type) else Unit.FLOAT, 1)
    if base in _INTEGER_CALLS:
        words = _words(call.type.scalar)
        return Weight(Unit.ALU, words, words)
    if base in ("lifetime", "dbg", "assume", "experimental", "donothing"):
        return FREE
    if base in ("memcpy", "memset", "memmove"):
        return Weight(Unit.MEMORY, 1)
    return _function(base, call.type)


def _own(name: str, kind: IntrinsicKind) -> Weight:
    """Weft's intrinsics: ids are registers, shuffles go through the load/store unit."""
    if name.startswith(PREFIX):
        # As many shuffles as double their way through a warp.
        return Weight(Unit.MEMORY, 5 * (2 if name.endswith("64") else 1))
    if name.startswith(("weft.shfl", "weft.extract", "weft.compact")):
        return Weight(Unit.MEMORY, 2 if name.endswith("i64") else 1)
    if kind is IntrinsicKind.SHARED or kind is IntrinsicKind.MASK:
        return FREE
    return _ONE


def _function(name: str, type: Type) -> Weight:
    if not isinstance(type.scalar, FloatType):
        return Weight(Unit.CONTROL, 2, 2)
    count, special = _FUNCTIONS.get(name, _OTHER_FUNCTION)
    if _is_double(type):
        return Weight(Unit.DOUBLE, 2 * count, 2 * count, special)
    return Weight(Unit.FLOAT, count, count, special)


def _is_double(type: Type) -> bool:
    scalar = type.scalar
    return isinstance(scalar, FloatType) and scalar.bits == 64


def _words(type: Type) -> int:
    """32-bit registers of an integer or pointer."""
    return max(1, -(-type.bits // 32)) if isinstance(type, IntType) else 2
