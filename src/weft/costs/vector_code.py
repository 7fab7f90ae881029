"""What SIMD code costs, read off the code itself: plain LLVM IR with vectors, before LLVM's pipeline (Moll, §13.4.3).

The thesis leaves a cost model of brushes to future work, and observes that codes with more than 35 % shuffles are slow,
and those with more than half arithmetic no faster than others. Here each kind of instruction is counted in registers
and weighed with the throughput of the table in `weft.costs.instructions`. Memory and arithmetic run at the same time:
the longer of both counts, and a part of the other. Values that find no register are stored and loaded again, and a loop
takes at least as long as what it hands on from one iteration to the next. What is called a fit was fitted to six to
nine brushes of nine stencils of 3 to 21 points that are in no published table, in floats and doubles, AVX-512 and AVX2,
at four sizes that fit a second-level cache, on an Intel server core, together with
`weft.codegen.parallel.brush_choice`: the mean error of a brush's cycles over the innermost loop's is 17 %, and what is
best by the model takes 1.10 times as long as what is best (geometric mean; 26 % and 1.13 with what had been fitted to
the nests of ``bench.tensors``).
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.byte_tables import blocks_of_lookup
from weft.costs.constants import constants_of
from weft.costs.instructions import instruction_cost, lookup_cost, memory_cost
from weft.costs.reached import reached, ways_of
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Poison, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable
from weft.ir.layout import DataLayout
from weft.ir.types import I1, Type, VectorType
from weft.machine.targets import Isa

OVERLAP = 0.5
"""How much of the shorter one of memory and arithmetic shows. Fit."""

SCALAR = 0.03
"""By instruction that all lanes share: most are of addresses, which LLVM hoists, or folds into accesses. Guess."""

BOX = 2.0
"""Cycles of a lane group for loops and addresses around it. Fit."""

LACKING, LACKING_128 = 0.25, 2.0
"""By register that there are too few: most are loads, which are made again where they are used. Fit; the second for
registers of 128 bits, whose unaligned loads are instructions of their own: with the first, 2x8 of four points were
chosen, which took 1.4 times as long as the innermost loop."""

CARRIED_LANE = 2.0
"""By lane of a mask that goes from block to block and has more lanes than LLVM keeps as a vector (`Isa.mask_lanes`):
each is taken out of a register, and put into one again. Measured: a step of a breadth-first search on a grid, with five
such masks of 64 lanes, takes 600 cycles more for 64 cells on AVX2 than two of 32 lanes."""

WIDE_BITS = 512


class VectorCosts(Struct):
    """What a function for a lane group costs.

    Parameters
    ----------
    loads, stores, shuffles, arithmetic
        Instructions, counted in registers.
    memory, others
        Cycles of memory operations, and of shuffles and arithmetic.
    scalars
        Instructions that all lanes share.
    lacking
        Registers that there are too few.
    waits
        Cycles that loops take at least, for what their iterations hand on.
    gathers
        Whether there are gathers or scatters.
    may_turn
        Whether lanes along other loops or axes may find rows in what these access.
    replaces
        Whether loads could be replaced by values that are known, be it worth it or not.
    """

    loads: float = 0.0
    stores: float = 0.0
    shuffles: float = 0.0
    arithmetic: float = 0.0
    memory: float = 0.0
    others: float = 0.0
    scalars: float = 0.0
    lacking: float = 0.0
    waits: float = 0.0
    gathers: bool = False
    may_turn: bool = True
    replaces: bool = True

    def cycles(self, isa: Isa) -> float:
        """Cycles of a lane group."""
        longer, shorter = max(self.memory, self.others), min(self.memory, self.others)
        busy = longer + OVERLAP * shorter + SCALAR * self.scalars
        lacking = LACKING if isa.vector_bits > 128 else LACKING_128
        return BOX + max(busy, self.waits) + lacking * self.lacking

    @property
    def shuffled(self) -> float:
        """The part of shuffles in all vector instructions."""
        return self.shuffles / max(1.0, self.loads + self.stores + self.shuffles + self.arithmetic)


def vector_costs(function: Function, isa: Isa, weight: float | None = None) -> VectorCosts:
    """Count a function's instructions; those of loops `weight` times, or as often as loops are thought to run.

    What is a version for some lane groups counts as often as it is thought to run; with a weight of 1, where most of
    them run it.
    """
    costs, view = VectorCosts(), cfg_of(function)
    loops = loop_forest(view.cfg)
    weight = constants_of(isa).loop_weight if weight is None else weight
    chances = reached(view, [ways_of(block) for block in view.blocks])
    for number, block in enumerate(view.blocks):
        hoisted = _hoisted(view, loops.innermost[number], block)
        chance = chances[number] if weight != 1 else round(chances[number])
        _add_block(costs, block, chance * weight ** loops.depth(number), hoisted, function.layout, isa)
        costs.lacking = max(costs.lacking, _pressure(block, function.layout, isa) - isa.vector_registers)
    for loop in loops.loops:
        if not loop.children:
            costs.waits += weight**loop.depth * _recurrence(view, loop, isa)
    return costs


def _recurrence(view: CFGView, loop: Loop, isa: Isa) -> float:
    """The latency from the vectors that a loop carries to the next ones."""
    header = view.blocks[loop.header]
    depth: dict[Value, float] = {phi: 0.0 for phi in header.phis() if isinstance(phi.type, VectorType)}
    for number in reverse_postorder(view.cfg.succs):
        if number not in loop.blocks:
            continue
        for i in view.blocks[number].instructions:
            known = [depth[v] for v in i.operands if v in depth]
            if known and i not in depth and isinstance(i.type, VectorType):
                op = ".".join((i.callee_name or "").split(".")[:2]) if i.op == "call" else i.op
                depth[i] = max(known) + (0.0 if i.is_phi else instruction_cost(op, 32, 1, isa).latency)
    latches = {view.blocks[n] for n in loop.latches}
    return max(
        (depth.get(v, 0.0) for phi in header.phis() for v, source in phi.incoming() if source in latches),
        default=0.0,
    )


def _hoisted(view: CFGView, loop: Loop | None, block: BasicBlock) -> set[Value]:
    """What a block of a loop computes from what is there before it."""
    found: set[Value] = set()
    if loop is None:
        return found
    for i in block.instructions:
        inside = (v for v in i.operands if isinstance(v, Instruction) and v not in found)
        if is_speculatable(i) and all(
            v.block is None or view.index[v.block] not in loop.blocks for v in inside
        ):
            found.add(i)
    return found


def _add_block(
    costs: VectorCosts, block: BasicBlock, times: float, hoisted: set[Value], layout: DataLayout, isa: Isa
) -> None:
    for i in block.instructions:
        if i in hoisted:
            continue
        name = i.callee_name or ""
        type = i.accessed_type if i.op in ("load", "store") else vector_of(i)
        if not isinstance(type, VectorType):
            costs.scalars += times * (i.op not in ("phi", "br", "ret"))
            continue
        if _goes_on_lane_by_lane(i, isa):
            costs.others += times * CARRIED_LANE * type.count
        bits = layout.bit_size(type.element)
        registers = registers_of(type, layout, isa)
        if i.op in ("load", "store") or name.startswith(("llvm.masked.load", "llvm.masked.store")):
            load = i.op == "load" or "load" in name
            each = memory_cost("load" if load else "store", "contiguous", bits, type.count, isa).cycles
            if load:
                costs.loads += times * registers
                whole = min(type.count * bits, isa.vector_bits) == WIDE_BITS
                each += isa.core.wide_split * registers * whole
            else:
                costs.stores += times * registers
            costs.memory += times * (each + (i.op == "call") * registers)
        elif "gather" in name or "scatter" in name:
            costs.gathers = True
            op = "load" if "gather" in name else "store"
            costs.memory += times * memory_cost(op, "gather", bits, type.count, isa).cycles
            costs.loads += times * type.count
        elif (blocks := blocks_of_lookup(name)) is not None:
            costs.shuffles += times * registers
            costs.others += times * lookup_cost(blocks, type.count, bits, isa).cycles
        elif i.op == "insertelement" and isinstance(i.operands[0], Poison):
            # The first half of a broadcast.
            continue
        elif _broadcasts_a_load(i):
            costs.memory += times * memory_cost("load", "uniform", bits, 1, isa).cycles
        elif i.op == "shufflevector":
            count = shuffles_of(i, type, layout, isa)
            costs.shuffles += times * count
            costs.others += times * count * shuffle_cycles(isa)
        elif type.element is not I1 or i.op in ("icmp", "fcmp"):
            op = ".".join(name.split(".")[:2]) if i.op == "call" else i.op
            costs.arithmetic += times * registers
            costs.others += times * instruction_cost(op, bits, type.count, isa).cycles


def _goes_on_lane_by_lane(i: Instruction, isa: Isa) -> bool:
    """Whether it is a mask for other blocks that has too many lanes to stay a vector."""
    type = i.type
    if not isinstance(type, VectorType) or type.element is not I1 or type.count <= isa.mask_lanes:
        return False
    return i.is_phi or any(user.is_phi or user.block is not i.block for user in i.instruction_users())


def _broadcasts_a_load(i: Instruction) -> bool:
    """Whether a number goes to all lanes from memory, which takes a load and no shuffle."""
    if i.op != "shufflevector" or len({m for m in i.attrs["mask"] if m >= 0}) != 1:
        return False
    made = i.operands[0]
    if not isinstance(made, Instruction) or made.op != "insertelement":
        return False
    number = made.operands[1]
    return isinstance(number, Instruction) and number.op == "load"


def vector_of(i: Instruction) -> Type:
    """The vector that an instruction is about: its result, or what it stores or compares."""
    candidates = [i.type, *(v.type for v in i.operands)]
    if i.op in ("icmp", "fcmp"):
        candidates = [i.operands[0].type]
    return next((t for t in candidates if isinstance(t, VectorType)), i.type)


def shuffle_cycles(isa: Isa) -> float:
    """What a shuffle of two registers takes."""
    return isa.core.wide_shuffle if isa.vector_bits == WIDE_BITS else 1.0


def registers_of(type: VectorType, layout: DataLayout, isa: Isa) -> int:
    """How many registers a vector fills."""
    bits = 32 if type.element is I1 else layout.bit_size(type.element)
    return max(1, -(-type.count * bits // isa.vector_bits))


def shuffles_of(i: Instruction, type: VectorType, layout: DataLayout, isa: Isa) -> int:
    """How many shuffles of registers it takes: none where whole registers go from one name to another.

    A number in all lanes is one register, however many there are.
    """
    mask: tuple[int, ...] = tuple(i.attrs["mask"])
    if len({m for m in mask if m >= 0}) == 1:
        return 1
    slots = max(1, isa.vector_bits // max(8, layout.bit_size(type.element)))
    total = 0
    for first in range(0, len(mask), slots):
        part = mask[first : first + slots]
        sources = {m // slots for m in part if m >= 0}
        straight = all(m < 0 or m % slots == k for k, m in enumerate(part))
        total += max(0, len(sources) - 1) if len(sources) != 1 else not straight
    return total


def _pressure(block: BasicBlock, layout: DataLayout, isa: Isa) -> int:
    """The most registers of vectors that are live at once, of those that the block makes.

    Values that are the operands of one instruction only, loads in front, are no burden; nor are parts of others.
    """
    last: dict[Value, int] = {}
    for place, i in enumerate(block.instructions):
        for v in i.operands:
            last[v] = place
    sizes: dict[int, int] = {}
    live = most = 0
    for place, i in enumerate(block.instructions):
        live -= sizes.pop(place, 0)
        whole = i.op not in ("shufflevector", "phi") and isinstance(i.type, VectorType) and i in last
        if whole and isinstance(i.type, VectorType) and i.type.element is not I1 and last[i] > place + 1:
            registers = registers_of(i.type, layout, isa)
            sizes[last[i]] = sizes.get(last[i], 0) + registers
            live += registers
            most = max(most, live)
    return most
