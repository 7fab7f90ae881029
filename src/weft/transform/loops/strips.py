"""Strips: a counted loop runs a number of iterations at a time, and polls in between (`weft.ir.polls`).

Precondition: a loop that counts and is tested at the top, in canonical form. Postcondition: a loop around it, whose φs
are those of its header::

    again:  far  = the bound is more than `length` iterations away
            stop = far ? counter + `length` iterations : bound
            the loop, up to stop
            if far: poll; go to again

The loop itself has one exit and a number of iterations that is known, as before. Preserves what the program does as
long as nobody interrupts it.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import BasicBlock, Builder, ConstInt, Instruction, Module, Value
from weft.ir.polls import insert_poll


def can_be_cut(loop: CountedLoop, length: int) -> bool:
    """Whether a loop may be cut into strips of so many iterations; its numbers have room for them."""
    reach = length * abs(loop.counter.step)
    return loop.top_tested and not loop.tests_next and loop.counter.type.bits > reach.bit_length() + 1


def cut_into_strips(module: Module, loop: CountedLoop, length: int) -> None:
    """Put a loop around the loop that polls behind every `length` iterations."""
    function, header, exiting = loop.header.function, loop.header, loop.exiting
    assert function is not None
    again = function.add_block("strip", after=loop.preheader)
    behind, next_strip = function.add_block("strip.end"), function.add_block("strip.next")
    _retarget(loop.preheader.terminator, header, again)
    builder = Builder(again)
    builder.loc = loop.preheader.terminator.loc
    first: dict[Instruction, Value] = {}
    for phi in header.phis():
        outer = builder.phi(phi.type)
        outer.add_incoming(phi.incoming_value(loop.preheader), loop.preheader)
        outer.add_incoming(phi, next_strip)
        first[phi] = outer
        at = phi.blocks.index(loop.preheader)
        phi.remove_incoming(at)
        phi.add_incoming(outer, again)
    far, stop = _stop(builder, loop, first[loop.counter.phi], length)
    builder.br(header)

    builder.at_end(exiting)
    test = exiting.terminator.operands[0]
    assert isinstance(test, Instruction)
    builder.before = exiting.terminator
    goes_on = builder.icmp(loop.predicate, loop.counter.phi, stop)
    old = exiting.terminator
    inside = next(b for b in old.successors if b is not loop.exit)
    builder.before = None
    old.erase()
    builder.cond_br(goes_on, inside, behind)
    loop.exit.replace_phi_source(exiting, behind)
    builder.at_end(behind)
    builder.cond_br(far, next_strip, loop.exit)
    builder.at_end(next_strip)
    insert_poll(module, builder.br(again))


def _stop(builder: Builder, loop: CountedLoop, first: Value, length: int) -> tuple[Value, Value]:
    """Whether there is another strip behind this one, and the bound of this one."""
    type, step = loop.counter.type, loop.counter.step
    low, high = (first, loop.bound) if step > 0 else (loop.bound, first)
    distance = builder.binary("sub", high, low)
    beyond = builder.icmp("ugt", distance, ConstInt(type, length * abs(step)))
    runs = builder.icmp(loop.predicate, first, loop.bound)
    far = builder.binary("and", beyond, runs)
    # A bound that is reached itself is one iteration farther.
    inclusive = (1 if step > 0 else -1) if loop.predicate.endswith("e") and loop.predicate != "ne" else 0
    stop = builder.binary("add", first, ConstInt(type, length * step - inclusive))
    return far, builder.select(far, stop, loop.bound)


def _retarget(terminator: Instruction, old: BasicBlock, new: BasicBlock) -> None:
    for i, successor in enumerate(terminator.successors):
        if successor is old:
            terminator.set_block(i, new)
