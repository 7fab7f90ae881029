"""The opcode table: what each P-LLVM instruction takes, yields, does and how it is printed.

The table is data. Reader, writer, verifier, interpreter and analyses look opcodes up here. `form` names the printed
grammar and with it the meaning of ``operands``, ``blocks`` and ``attrs`` of an instruction:

=============  ====================================  =======================  ==================================
form           operands                              blocks                   attrs
=============  ====================================  =======================  ==================================
binary         a, b
unary          a
cast           a (result type is the target)
compare        a, b                                                           predicate: str
select         condition, then, else
phi            one value per incoming block          incoming blocks
gep            pointer, index...                                              source_type: Type
load           pointer                                                        align: int, volatile: bool,
                                                                              ordering: str|None, syncscope: str|None
store          value, pointer                                                 as load
alloca         element count (i32 1 when omitted)                             allocated_type: Type, align: int,
                                                                              space: int, inalloca: bool
call           args..., bundle operands..., callee                            fn_type: FunctionType, cc: str,
                                                                              tail: str, ret_attrs: tuple[str],
                                                                              arg_attrs: tuple[tuple[str]],
                                                                              fn_attrs: tuple[str],
                                                                              bundles: tuple[(tag, count)]
br             (none), or condition                  target, or then, else
switch         value                                 default, case targets    cases: tuple[int] (unsigned)
ret            (none), or value
unreachable
extractvalue   aggregate                                                      indices: tuple[int]
insertvalue    aggregate, value                                               indices: tuple[int]
extractelement vector, index
insertelement  vector, value, index
shufflevector  a, b                                                           mask: tuple[int] (-1 is poison)
freeze         a
atomicrmw      pointer, value                                                 rmw: str, ordering, syncscope,
                                                                              align, volatile
cmpxchg        pointer, expected, new                                         success, failure: str, weak: bool,
                                                                              syncscope, align, volatile
fence                                                                         ordering, syncscope
=============  ====================================  =======================  ==================================

Missing attrs read as None, False or empty.
"""

from __future__ import annotations

from msgspec import Struct

FAST_MATH = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")
INT_PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
RMW_OPERATIONS = (
    "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin",
    "fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat",
)  # fmt: skip


class Opcode(Struct, frozen=True):
    """One row of the table.

    Parameters
    ----------
    name, form
        The opcode and its printed grammar (module docstring).
    flags
        Flags the opcode may carry, in printed order.
    reads, writes
        Whether it may read or write memory (calls are decided by their callee: `effects`).
    traps
        Whether executing it can be undefined behaviour even when its result is unused (division by zero).
    terminator, commutative
        As the words say.
    meaning
        The semantics in one line; the executable form is `weft.interp`'s function for the opcode.
    """

    name: str
    form: str
    meaning: str
    flags: tuple[str, ...] = ()
    reads: bool = False
    writes: bool = False
    traps: bool = False
    terminator: bool = False
    commutative: bool = False


_WRAP = ("nuw", "nsw")

OPCODES: dict[str, Opcode] = {
    row.name: row
    for row in (
        Opcode("add", "binary", "a + b modulo 2^n", _WRAP, commutative=True),
        Opcode("sub", "binary", "a - b modulo 2^n", _WRAP),
        Opcode("mul", "binary", "a * b modulo 2^n", _WRAP, commutative=True),
        Opcode("udiv", "binary", "unsigned quotient; b = 0 is undefined behaviour", ("exact",), traps=True),
        Opcode("sdiv", "binary", "quotient toward 0; b = 0 or overflow is undefined", ("exact",), traps=True),
        Opcode("urem", "binary", "unsigned remainder; b = 0 is undefined behaviour", traps=True),
        Opcode("srem", "binary", "remainder with the sign of a; undefined as sdiv", traps=True),
        Opcode("shl", "binary", "a * 2^b; poison when b >= n", _WRAP),
        Opcode("lshr", "binary", "a shifted right, zeros in; poison when b >= n", ("exact",)),
        Opcode("ashr", "binary", "a shifted right, sign in; poison when b >= n", ("exact",)),
        Opcode("and", "binary", "bitwise and", commutative=True),
        Opcode("or", "binary", "bitwise or; disjoint: poison when a & b != 0", ("disjoint",), commutative=True),
        Opcode("xor", "binary", "bitwise exclusive or", commutative=True),
        Opcode("fadd", "binary", "IEEE sum", FAST_MATH, commutative=True),
        Opcode("fsub", "binary", "IEEE difference", FAST_MATH),
        Opcode("fmul", "binary", "IEEE product", FAST_MATH, commutative=True),
        Opcode("fdiv", "binary", "IEEE quotient", FAST_MATH),
        Opcode("frem", "binary", "fmod(a, b)", FAST_MATH),
        Opcode("fneg", "unary", "sign bit flipped", FAST_MATH),
        Opcode("freeze", "unary", "a, or some fixed value of the type when a is poison or undef"),
        Opcode("trunc", "cast", "low bits", _WRAP),
        Opcode("zext", "cast", "zero extension; nneg: poison when a is negative", ("nneg",)),
        Opcode("sext", "cast", "sign extension"),
        Opcode("fptrunc", "cast", "rounded to the narrower format", FAST_MATH),
        Opcode("fpext", "cast", "exact in the wider format", FAST_MATH),
        Opcode("fptoui", "cast", "truncated toward 0; poison when out of range"),
        Opcode("fptosi", "cast", "truncated toward 0; poison when out of range"),
        Opcode("uitofp", "cast", "unsigned a rounded to nearest", ("nneg", *FAST_MATH)),
        Opcode("sitofp", "cast", "signed a rounded to nearest", FAST_MATH),
        Opcode("ptrtoint", "cast", "the address as an integer"),
        Opcode("ptrtoaddr", "cast", "the address as an integer, without exposing the object"),
        Opcode("inttoptr", "cast", "the pointer with this address"),
        Opcode("bitcast", "cast", "same bits, another type"),
        Opcode("addrspacecast", "cast", "the same object seen from another address space"),
        Opcode("icmp", "compare", "integer or pointer comparison", ("samesign",)),
        Opcode("fcmp", "compare", "IEEE comparison, ordered or unordered", FAST_MATH),
        Opcode("select", "select", "then where condition is true, else elsewhere", FAST_MATH),
        Opcode("phi", "phi", "the value of the edge taken; the shadow for passive threads", FAST_MATH),
        Opcode(
            "getelementptr", "gep", "pointer plus the byte offset of the indexed element",
            ("inbounds", "nusw", "nuw"),
        ),
        Opcode("load", "load", "the value in memory", reads=True, traps=True),
        Opcode("store", "store", "memory gets the value", writes=True, traps=True),
        Opcode("alloca", "alloca", "a new uninitialized object of this thread's stack"),
        Opcode("call", "call", "the callee's result and effects", FAST_MATH, reads=True, writes=True, traps=True),
        Opcode("br", "br", "control goes to the target chosen by the condition", terminator=True),
        Opcode("switch", "switch", "control goes to the target of the equal case", terminator=True),
        Opcode("ret", "ret", "the thread leaves the function", terminator=True),
        Opcode("unreachable", "unreachable", "undefined behaviour", traps=True, terminator=True),
        Opcode("extractvalue", "extractvalue", "a member of an aggregate"),
        Opcode("insertvalue", "insertvalue", "the aggregate with one member replaced"),
        Opcode("extractelement", "extractelement", "an element; poison when the index is out of range"),
        Opcode("insertelement", "insertelement", "the vector with one element replaced"),
        Opcode("shufflevector", "shufflevector", "elements of both vectors in the order of the mask", FAST_MATH),
        Opcode("atomicrmw", "atomicrmw", "old value; memory gets old op value", reads=True, writes=True, traps=True),
        Opcode("cmpxchg", "cmpxchg", "{old, equal?}; memory gets new if equal", reads=True, writes=True, traps=True),
        Opcode("fence", "fence", "memory ordering", reads=True, writes=True),
    )
}  # fmt: skip
