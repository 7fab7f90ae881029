"""What lane groups of a row all load from one place is loaded once for the row.

Lane groups run in a loop, one after the other, as calls of a function that is inlined. A store of one of them could be
to what the next one loads, as far as LLVM knows: then each loads it again. But they are different threads, and between
barriers none reads what another one writes (docs/memory_model.md)::

    for x in row:                                 way = distances[i, k]
        way = distances[i, k]            ==>      for x in row:
        distances[i, x] = min(..., way + ...)         distances[i, x] = min(..., way + ...)

What a thread itself may have written it loads where it did before. So does it what it compares with something: that may
be a flag which says that other threads have found what is looked for, and no thread has to look at it twice.

Precondition: plain LLVM IR; functions with the attribute `APART_ATTRIBUTE` are called by loops of which each round is
of other threads (`weft.codegen.loops`). Postcondition: these functions have parameters for what they loaded, before
anything that may write, from places that a loop does not change; the loop is preceded by these loads, if it has a
round. No function has the attribute. Preserves the program where threads do not race.
"""

from __future__ import annotations

from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Builder, Constant, Function, Instruction, Module, Poison, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.clone import ValueMap
from weft.ir.effects import is_speculatable, may_not_return, may_write
from weft.ir.intrinsics import APART_ATTRIBUTE
from weft.ir.locations import span_of
from weft.transform.groups.lane_rounds import LaneRound, always_run, copied, rounds_of_lane_groups


def share_loads(module: Module) -> list[SourceSpan | None]:
    """Load what rounds of loops have in common before the loops; where these loads are in the source."""
    found: list[SourceSpan | None] = []
    for callee, around in list(rounds_of_lane_groups(module)):
        callee.attributes = tuple(a for a in callee.attributes if not a.startswith(f'"{APART_ATTRIBUTE}"'))
        if around is not None:
            found += _share(callee, around)
    return found


def _share(callee: Function, around: LaneRound) -> list[SourceSpan | None]:
    """Let the callee take what it loads as parameters."""
    if not any(map(may_write, callee.instructions())):
        # LLVM sees that nothing changes.
        return []
    needed = _in_common(callee, around)
    loads = [i for i in needed if i.op == "load"]
    if not loads:
        return []
    places = [span_of(load) for load in loads]
    first = _block_of_first_loads(around)
    copies: ValueMap = dict(zip(callee.args, around.call.args, strict=True))
    builder = Builder(before=first.terminator)
    for instruction in needed:
        copy = copied(builder, instruction, copies)
        # What it comes from is another function of the source.
        copy.loc, copies[instruction] = None, copy
    given = list(around.call.args)
    for load in loads:
        given.append(_arriving(around, first, copies[load], load.name))
        replace_and_erase(load, callee.append_parameter(load.type, load.name or "loaded", ()))
    builder = Builder(before=around.call)
    builder.loc = around.call.loc
    builder.call(callee, given)
    around.call.erase()
    return places


def _in_common(callee: Function, around: LaneRound) -> list[Instruction]:
    """What is loaded before anything is written, from the same places in all rounds, and what that is computed by."""
    same: set[Value] = {
        a for a, given in zip(callee.args, around.call.args, strict=True) if around.is_fixed(given)
    }
    found: list[Instruction] = []
    for instruction in always_run(callee):
        if may_write(instruction) or may_not_return(instruction):
            break
        computed = is_speculatable(instruction) or (instruction.op == "load" and not _is_asked(instruction))
        operands = instruction.operands
        if computed and all(o in same or isinstance(o, Constant) for o in operands):
            same.add(instruction)
            found.append(instruction)
    needed: set[Value] = set()
    for instruction in reversed(found):
        if instruction.op == "load" or instruction in needed:
            needed.add(instruction)
            needed.update(instruction.operands)
    return [i for i in found if i in needed]


def _is_asked(load: Instruction) -> bool:
    """Whether what is loaded is compared with something."""
    return any(user.op in ("icmp", "fcmp") for user in load.instruction_users())


def _block_of_first_loads(around: LaneRound) -> BasicBlock:
    """A block before the loop that runs if the loop has a round."""
    before, header = around.before, around.header
    function = around.call.function
    first = function.add_block(f"{header.name}.first", after=before)
    copies: ValueMap = {phi: phi.incoming_value(before) for phi in header.phis()}
    before.terminator.erase()
    builder = Builder(before)
    for instruction in list(header.non_phis())[:-1]:
        copies[instruction] = copied(builder, instruction, copies)
    test = header.terminator
    condition = copies.get(test.operands[0], test.operands[0])
    ways = [first if s in around.inside else header for s in test.successors]
    builder.cond_br(condition, ways[0], ways[1])
    Builder(first).br(header)
    for phi in header.phis():
        phi.add_incoming(phi.incoming_value(before), first)
    return first


def _arriving(around: LaneRound, first: BasicBlock, loaded: Value, name: str) -> Value:
    """What has been loaded, in the loop."""
    phi = Builder.after_phis(around.header).phi(loaded.type, name)
    for block in around.header.predecessors:
        kept = phi if block in around.inside else Poison(phi.type)
        phi.add_incoming(loaded if block is first else kept, block)
    return phi
