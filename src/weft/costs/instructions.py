"""What instructions cost, roughly, for choices between ways to generate code.

Cycles of recent x86 cores with full-width vector units, rounded, as instruction tables have them (Agner Fog,
"Instruction tables"; uops.info): good enough to weigh a branch against the code it would skip, or one register a value
against four, and no more. Costs are for one vector register; `instruction_cost` and `memory_cost` scale them to the
number of registers and lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.costs.constants import constants_of
from weft.ir import Instruction
from weft.ir.types import F32
from weft.machine.cores import MOST_LONE_LOADS
from weft.machine.targets import Isa


class Cost(Struct, frozen=True):
    """Cycles.

    Parameters
    ----------
    latency
        Until a dependent instruction may start.
    cycles
        Until another independent one may start: what it costs in code that is not latency-bound.
    per_lane
        There is no vector instruction: it runs once for each lane.
    """

    latency: float
    cycles: float
    per_lane: bool = False


FREE = Cost(0, 0)
UNKNOWN = Cost(20, 20, per_lane=True)
"""Calls, and opcodes that are not in the table."""

INSTRUCTION_COSTS: dict[str, Cost] = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "fneg"), Cost(1, 0.5)),
    **dict.fromkeys(("shl", "lshr", "ashr"), Cost(1, 0.5)),
    "mul": Cost(5, 1),
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), Cost(15, 7, per_lane=True)),
    **dict.fromkeys(("fadd", "fsub", "fmul", "llvm.fma", "llvm.fmuladd"), Cost(4, 0.5)),
    **dict.fromkeys(("fdiv", "llvm.sqrt"), Cost(15, 9)),
    "frem": Cost(40, 9),
    **dict.fromkeys(("icmp", "fcmp"), Cost(3, 1)),
    **dict.fromkeys(("select", "llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax", "llvm.abs"), Cost(1, 0.5)),
    **dict.fromkeys(("llvm.fabs", "llvm.copysign"), Cost(1, 0.5)),
    **dict.fromkeys(("llvm.minnum", "llvm.maxnum"), Cost(6, 2)),
    # Twice as many instructions as those above: the zeros are told apart.
    **dict.fromkeys(("llvm.minimum", "llvm.maximum", "llvm.minimumnum", "llvm.maximumnum"), Cost(12, 4)),
    **dict.fromkeys(("llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint", "llvm.nearbyint"), Cost(8, 1)),
    **dict.fromkeys(("trunc", "zext", "sext"), Cost(3, 1)),
    **dict.fromkeys(("fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp"), Cost(5, 1)),
    **dict.fromkeys(("bitcast", "inttoptr", "ptrtoint", "ptrtoaddr", "addrspacecast", "freeze", "phi"), FREE),
    **dict.fromkeys(("llvm.assume", "llvm.lifetime"), FREE),
    # To the nearest integer that there is: with minimum, maximum, and what is behind the last float in range.
    **dict.fromkeys(("llvm.fptosi", "llvm.fptoui"), Cost(16, 3)),
    # Bytes are looked up in registers.
    **dict.fromkeys(("llvm.ctpop", "llvm.bitreverse"), Cost(8, 3)),
    **dict.fromkeys(("llvm.ctlz", "llvm.cttz"), Cost(12, 5)),
    **dict.fromkeys(("llvm.bswap", "llvm.uadd.sat", "llvm.usub.sat"), Cost(2, 1)),
    **dict.fromkeys(("llvm.fshl", "llvm.fshr"), Cost(3, 1.5)),
    "getelementptr": Cost(2, 1),
    **dict.fromkeys(("extractelement", "insertelement", "shufflevector"), Cost(3, 1)),
    **dict.fromkeys(("extractvalue", "insertvalue", "alloca"), FREE),
    **dict.fromkeys(("atomicrmw", "cmpxchg"), Cost(20, 18, per_lane=True)),
    "fence": Cost(30, 30),
    "weft.ordinary": Cost(40, 9),
    **dict.fromkeys(("br", "switch", "ret", "unreachable"), Cost(1, 1)),
}
"""By opcode, and by intrinsic without its type suffix."""

INVERSE_ROOT = Cost(20, 3)
"""Of floats, in fast arithmetic: an estimate and four instructions that improve it."""

INVERSE_ROOT_OF_DOUBLES = Cost(50, 8)
"""In fast arithmetic: a guess and what makes it right (`weft.transform.numbers.inverse_roots`)."""

COPY_UPDATE = 3.0
"""Cycles of a load, an operation and a store of one element that is in the cache."""

NARROW_DIVISIONS: dict[str, Cost] = {op: Cost(40, 26) for op in ("udiv", "sdiv", "urem", "srem")}
"""Of integers of 32 bits or less, in lanes: two registers of doubles are divided for one of theirs."""

CALLED_REMAINDER = Cost(40, 30, per_lane=True)
"""A remainder of floats for which there is a call of the C library (`weft.target.rewrites.ordinary_lanes`)."""

MATH_CALL = Cost(40, 12)
"""One call of a vector math library, a register."""

_LOADS = {"uniform": Cost(5, 0.5), "contiguous": Cost(7, 0.5)}
_STORES = {"uniform": Cost(1, 1), "contiguous": Cost(1, 1)}
_SCALAR_LOAD = Cost(5, 0.5, per_lane=True)
_SCALAR_STORE = Cost(1, 1, per_lane=True)
_PUT_TOGETHER = 0.5
"""Cycles of a shuffle for pieces. Measured on Zen 3: structures of 2 to 8 numbers of which not all are stored."""
_ASKED = 1.0
"""Cycles of a test and a choice between two addresses."""


def instruction_cost(op: str, element_bits: int, lanes: int, isa: Isa) -> Cost:
    """Return what an instruction, or an intrinsic, costs for all lanes together; memory has `memory_cost`."""
    cost = INSTRUCTION_COSTS.get(op, UNKNOWN)
    if op == "frem" and element_bits == 64 and "fma" not in isa.features:
        cost = CALLED_REMAINDER
    if lanes > 1 and element_bits <= 32 and isa.divides_as_floats:
        cost = NARROW_DIVISIONS.get(op, cost)
    return _scale(cost, element_bits, lanes, isa)


def memory_cost(op: str, form: str, element_bits: int, lanes: int, isa: Isa) -> Cost:
    """Return what a load or store costs for all lanes together.

    Parameters
    ----------
    op
        ``load`` or ``store``.
    form
        ``uniform`` (one element for all lanes), ``contiguous``, ``strided`` (a step apart, which may be known at run
        time only), ``addresses`` (a scatter under a mask), or anything else: each lane has its address.
    element_bits, lanes, isa
        The vector and the machine.
    """
    load = op == "load"
    if form == "uniform":
        return (_LOADS if load else _STORES)[form]
    if form == "contiguous":
        return _scale((_LOADS if load else _STORES)[form], element_bits, lanes, isa)
    constants = constants_of(isa)
    one = _SCALAR_LOAD if load else _SCALAR_STORE
    if form == "strided" and not isa.mask_registers:
        overhead, further = constants.strided_lane
        overhead += further * max(0, lanes - 8) / lanes
    elif load and isa.gather and isa.core.slow_gathers:
        if lanes > MOST_LONE_LOADS:
            cycles = constants.slow_gather * max(1, lanes * element_bits // isa.vector_bits)
            return Cost(one.latency + cycles, cycles)
        # Addresses go through memory (`weft.target.rewrites.lone_loads`), which spares taking them apart.
        overhead = constants.gather_lane
    else:
        # Gathers and scatters are taken apart where there are no mask registers. A gather is hardly faster than its
        # loads one by one, but spares taking places and results apart.
        has_instruction = (isa.gather if load else isa.scatter) and isa.mask_registers > 0
        split = constants.split_lane if form == "addresses" else constants.numbered_lane
        overhead = constants.gather_lane if has_instruction else split
    return Cost(one.latency + lanes * overhead, lanes * (one.cycles + overhead))


def table_cost(blocks: int, lanes: int, isa: Isa) -> Cost | None:
    """Return what a lookup in a table of so many times 64 bytes costs (`weft.target.rewrites.tables`).

    None where no instruction permutes bytes.
    """
    if isa.permutes_bytes:
        return Cost(8 + 3 * (blocks > 2), 1 + 1.5 * blocks)
    if not isa.shuffles_bytes:
        return None
    # A shuffle for each 16 bytes, and as many choices, two operations each where masks are no registers of their own.
    # Measured with AVX2 on Ice Lake: of 256 bytes, 16 lanes take 1.0 to 1.2 times as long as a gather, 32 lanes 0.68.
    parts, tables = -(-8 * lanes // isa.vector_bits), 4 * blocks
    return Cost(10, 2 + parts * tables * (1.0 if isa.mask_registers else 1.5))


def lookup_cost(blocks: int, lanes: int, element_bits: int, isa: Isa) -> Cost:
    """Return what a call of a function that looks numbers up costs: a gather where no instruction permutes bytes."""
    return table_cost(blocks, lanes, isa) or memory_cost("load", "gather", element_bits, lanes, isa)


def runs_cost(op: str, length: int, count: int, element_bits: int, lanes: int, isa: Isa) -> float:
    """Return the cycles of an access that is made as `count` accesses to `length` neighbouring elements each.

    Runs that do not fill registers are put into, or taken out of, their places in those of all lanes.
    """
    one = memory_cost(op, "contiguous", element_bits, length, isa).cycles
    served = length if length > 1 else lanes // count
    if served * element_bits >= isa.vector_bits:
        return count * one
    registers = max(1, lanes * element_bits // isa.vector_bits)
    return count * (one + 0.5) + registers


def is_inverse_root(quotient: Instruction) -> bool:
    """Whether a quotient is one by a root of 32 bits, and may be a product: LLVM estimates and improves the inverse.

    What the root allows does not matter to it.
    """
    if quotient.op != "fdiv" or quotient.type != F32 or not {"arcp", "fast"} & set(quotient.flags):
        return False
    root = quotient.operands[1]
    return isinstance(root, Instruction) and (root.callee_name or "").startswith("llvm.sqrt.")


def is_only_inverted(root: Instruction) -> bool:
    """Whether all that becomes of a root is its inverse."""
    users = list(root.instruction_users())
    return bool(users) and all(is_inverse_root(user) and user.operands[1] is root for user in users)


def interleave_cost(op: str, members: int, units: int, isa: Isa, masked: bool, unit_bits: int = 32) -> float:
    """Return the cycles of wide accesses with shuffles, for accesses that stand side by side in a stride.

    Parameters
    ----------
    op
        ``load`` or ``store``.
    members
        How many accesses of each thread are made together.
    units
        Registers that the stride of all lanes fills, for as many lanes as a register holds.
    isa
        The machine, which has masked accesses if these are `masked`.
    masked
        Whether the wide accesses are masked, be it for passive lanes or for gaps.
    unit_bits
        Bits of what registers are made of. Where there is no instruction for such under a mask, each register is asked
        for: whether it is in one page, and any lane active (`weft.target.rewrites.masked_loops`).
    """
    access = (_LOADS if op == "load" else _STORES)["contiguous"].cycles
    if masked:
        # The mask is spread over the stride, too. Without mask registers masked stores are slow.
        constants = constants_of(isa)
        spreads = op == "load" or isa.mask_registers > 0
        access += constants.spread_mask if spreads else constants.slow_masked_store
        if not isa.masks_memory(unit_bits):
            access += 2 * constants.test
    # A value is put together from, or spread over, all registers of the stride, two at a time.
    return units * access + members * (units - 1)


def pieces_cost(pieces: Sequence[int], members: int, units: int, isa: Isa, masked: bool) -> float:
    """Return the cycles of stores of structures in pieces.

    Parameters
    ----------
    pieces
        How many units each piece has.
    members, units, isa
        As for `interleave_cost`.
    masked
        Whether it is asked of each piece where it is stored to.
    """
    # A piece is taken out of its register, as the store of a lane's own is.
    each = _SCALAR_STORE.cycles + constants_of(isa).strided_lane[0] + _ASKED * masked
    if all(count == 1 for count in pieces):
        # Single units are taken out of the members' vectors.
        return len(pieces) * each
    steps = units.bit_length() - 1
    shuffles = units * steps if units == 1 << steps else members * (units - 1)
    return len(pieces) * each + _PUT_TOGETHER * shuffles


def zip_cost(isa: Isa) -> float:
    """Cycles of a shuffle that takes elements of two registers in turn.

    Without the permutations of AVX-512 those of 256 bits stay within halves, which are exchanged by another one.
    """
    return 2.0 if isa.vector_bits == 256 else 1.0


def unzip_cost(element_bits: int, isa: Isa) -> float:
    """Cycles of a shuffle that takes the even, or the odd, elements of two registers.

    Without the permutations of AVX-512 narrow ones are moved within both registers before these are joined.
    """
    if isa.vector_bits > 256:
        return 1.0
    return (4.0 if element_bits < 32 else 1.0) * zip_cost(isa)


def _scale(cost: Cost, element_bits: int, lanes: int, isa: Isa) -> Cost:
    if cost.per_lane and lanes > 1:
        # Independent lanes overlap; taking elements out and putting them back costs two shuffles a lane.
        return Cost(cost.latency + cost.cycles * (lanes - 1), lanes * (cost.cycles + 2))
    registers = -(-lanes * element_bits // isa.vector_bits)
    return Cost(cost.latency, cost.cycles * max(1, registers))
