"""What several iterations of a sum look up is loaded together, where the core has fast gathers and no masks for them.

    total0 += a[j0]; ...; total3 += a[j3]         ==>     all = gather at a + 4 * <j0, ..., j3>
                                                          total0 += all[0]; ...; total3 += all[3]

LLVM would make superwords of the loads, too, if it took gathers for fast; but then also where it has to multiply
places in vectors of 64 bits, as those of rows whose lengths are known at run time only, which takes longer than to load
one by one. So only numbers of 32 bits that lie side by side and count elements behind one address are gathered.
Measured on Emerald Rapids as Alder Lake: rows of 20 to 80 floats of a sparse matrix take 0.71 to 0.77 of the time, of
doubles 0.86 to 0.9. Several doubles with the same numbers are as well loaded one by one (1.02 to 1.1).

Precondition: as `weft.transform.loops.sums_in_fours`, which asks for the places of a loop's iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.memory.linear_locations import linear_location
from weft.ir import Builder, Instruction, Poison, Value
from weft.ir.builder import const_int
from weft.ir.constants import TRUE, ConstSplat
from weft.ir.layout import DataLayout
from weft.ir.types import F32, F64, I1, I8, I32, I64, FunctionType, PointerType, VectorType, int_type
from weft.machine.targets import Isa

_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv", "fneg"))
_FUSED = "llvm.fma", "llvm.fmuladd"


class Lookup(Struct, frozen=True):
    """A load of the element with a number, which is loaded, behind an address.

    Parameters
    ----------
    load, number
        The load, and its number of 32 bits.
    base, offset
        The address, so many bytes behind one that does not change.
    """

    load: Instruction
    number: Instruction
    base: Value
    offset: int


def gathers_sums(isa: Isa) -> bool:
    """Whether lookups of several iterations are gathered by weft itself: with masks LLVM does so."""
    return isa.gather and isa.core.fast_gathers and not isa.mask_registers


def lookups_of(loop: CountedLoop, questions: Set[Value], layout: DataLayout) -> list[Lookup]:
    """The loads of a loop of one block at such numbers, where the answer to all of `questions` is no.

    There are none in a loop that does more than arithmetic with what it loads: of that LLVM makes no superwords, and
    would take gathers apart.
    """
    floats = [i for i in loop.latch.instructions if i.type in (F32, F64) and i.op != "load"]
    compares = any(i.op == "fcmp" for i in loop.latch.instructions)
    if compares or not all(i.op in _ARITHMETIC or (i.callee_name or "").startswith(_FUSED) for i in floats):
        return []
    found = (_lookup(i, loop, questions, layout) for i in loop.latch.instructions if i.op == "load")
    lookups = [one for one in found if one is not None]
    often = Counter(one.number for one in lookups)
    return [one for one in lookups if one.load.type == F32 or often[one.number] == 1]


def _lookup(load: Instruction, loop: CountedLoop, questions: Set[Value], layout: DataLayout) -> Lookup | None:
    if load.type not in (F32, F64):
        return None
    location = linear_location(load.pointer, layout)
    if isinstance(location.base, Instruction) and location.base.block in loop.blocks:
        return None
    if not isinstance(location.base.type, PointerType) or location.base.type.space:
        return None
    terms = [index for index in location.terms if not _is_nothing(index, questions)]
    if len(terms) != 1 or location.terms[terms[0]] != layout.size(load.type):
        return None
    (number,) = terms
    if not isinstance(number, Instruction) or number.op != "load" or number.type != I32:
        return None
    places = linear_location(number.pointer, layout).terms
    if number.block is not loop.latch or places.get(loop.counter.phi) != layout.size(I32):
        return None
    return Lookup(load, number, location.base, location.offset)


def _is_nothing(index: Value, questions: Set[Value]) -> bool:
    """Whether an index is 0 where the answer to a question is no."""
    if not isinstance(index, Instruction) or index.op != "select" or index.operands[0] not in questions:
        return False
    return index.operands[2] == const_int(0, index.type)


def gathered(builder: Builder, lookup: Lookup, numbers: list[Value]) -> list[Value]:
    """Load the elements with these numbers together."""
    load, count = lookup.load, len(numbers)
    vector, places = VectorType(load.type, count), VectorType(I32, count)
    together: Value = Poison(places)
    for n, number in enumerate(numbers):
        together = builder.insert_element(together, number, const_int(n, I64))
    base = builder.gep(I8, lookup.base, (const_int(lookup.offset, I64),)) if lookup.offset else lookup.base
    unit = int_type(64 if load.type == F64 else 32)
    addresses = builder.gep(unit, base, (together,))
    mask = ConstSplat(VectorType(I1, count), TRUE)
    assert builder.block is not None and builder.block.function is not None
    module = builder.block.function.module
    assert module is not None
    name = f"llvm.masked.gather.v{count}f{unit.bits}.v{count}p0"
    operands = (addresses, mask, Poison(vector))
    callee = module.declare(name, FunctionType(vector, tuple(o.type for o in operands)))
    all = builder.call(callee, operands)
    all.loc = load.loc
    all.attrs["arg_attrs"] = ((f"align {unit.bits // 8}",), (), ())
    return [builder.extract_element(all, const_int(n, I64)) for n in range(count)]
