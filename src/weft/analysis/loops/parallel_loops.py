"""Whether the iterations of a loop may run at the same time, and what has to be known to run them so.

A loop can be cut into lane groups (Moll, §3.1) when it is counted (`weft.analysis.loops.counted_loops`), what it
carries from iteration to iteration is counters and reductions (`weft.analysis.loops.reductions`), the values that are
read behind it are theirs, and its accesses do not meet across iterations (`weft.analysis.loops.loop_dependence`). The
last may be promised by the user: then only what certainly meets is an obstacle.

Precondition: canonical P-LLVM. What is said holds for the loop in the form that it has; one in another form than
counting is an `Obstacle` with the reason.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.loops.counted_loops import (
    LEFT_TWICE,
    CountedLoop,
    Counter,
    counted_loop,
    counters_of,
    known_iterations,
)
from weft.analysis.loops.loop_dependence import LoopDependence, loop_dependences
from weft.analysis.loops.loop_promises import MOST_LANES, loop_promises
from weft.analysis.loops.reductions import Combination, Reduction, is_rounded, reduction_of
from weft.graph.loops import Loop
from weft.ir import Argument, BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent
from weft.ir.layout import DataLayout

_ROUNDED = {Combination.FADD, Combination.FMUL}


class Obstacle(Struct, frozen=True):
    """Why a loop cannot run in parallel.

    Parameters
    ----------
    message
        A sentence, without its full stop.
    at
        The instruction it is about, None where it is about the loop.
    hint
        What to do about it.
    beyond
        It is none if the loop has at most so many iterations, which are more than a lane group has; else None.
    """

    message: str
    at: Instruction | None = None
    hint: str | None = None
    beyond: int | None = None


class ParallelLoop(Struct, frozen=True):
    """A loop whose iterations may run at the same time.

    Parameters
    ----------
    loop
        How it counts.
    counters, reductions
        The φs of its header.
    private
        Stack objects of which each iteration has its own.
    suspects
        Writes to an element that is the same in all iterations that come there, if it is promised that one does at
        most.
    """

    loop: CountedLoop
    counters: tuple[Counter, ...]
    reductions: tuple[Reduction, ...]
    private: tuple[Instruction, ...]
    suspects: tuple[Instruction, ...] = ()


def parallel_loop(
    function: Function,
    view: CFGView,
    loop: Loop,
    layout: DataLayout,
    *,
    promised: bool,
    reassociate: bool,
    proved: bool = False,
    handled: Collection[Instruction] = (),
    most: int | None = None,
) -> ParallelLoop | Obstacle:
    """What is needed to run `loop` in parallel, or why that cannot be done.

    Parameters
    ----------
    view
        The function's control flow, canonical.
    promised
        Whether the user says that accesses do not meet across iterations.
    reassociate
        Whether float sums and products may be formed in another order; those that the program itself marks
        (``reassoc``, ``fast``) may anyway.
    proved
        Whether it is known that accesses do not meet, as it is of a loop that is marked so.
    handled
        φs of the header that somebody else will see to.
    most
        How many iterations there are at most, where a test in front of the loop has asked for that.
    """
    counted = counted_loop(view, loop)
    if isinstance(counted, str):
        left = promised and counted == LEFT_TWICE
        hint = "let iterations behind the last one do nothing, or run the loop in order" if left else None
        return Obstacle(f"the loop {counted}", view.blocks[loop.header].terminator, hint)
    counters = counters_of(counted.header, counted.preheader, counted.latch)
    reductions: list[Reduction] = []
    for phi in counted.header.phis():
        if phi in handled or any(counter.phi is phi for counter in counters):
            continue
        found = reduction_of(counted, phi)
        if isinstance(found, str):
            what = "a value that iterations hand on"
            hint = "write it as a sum, product, minimum or maximum; assign what is one iteration's own at its begin"
            return Obstacle(f"{what} {found}", _where(counted, phi), hint)
        if found.combination in _ROUNDED and not reassociate and not _may_be_reordered(counted, found):
            return Obstacle(
                "a float sum or product would be formed in another order",
                _where(counted, phi),
                "allow it with fastmath, or mark the operation reassoc",
            )
        reductions.append(found)
    if (obstacle := _behind(counted, counters, reductions, handled)) is not None:
        return obstacle
    private = private_objects(counted)
    for value in captured_by(counted):
        if value not in private and _begins_in(counted, value):
            return Obstacle("each iteration has an object of its own that is used outside of it")
    if proved or loop_promises(counted.latch, counted.blocks).proved:
        return ParallelLoop(counted, tuple(counters), tuple(reductions), private)
    if (known := known_iterations(counted)) is not None:
        most = known
    found = _memory(function, view, counted, counters, layout, private, promised=promised, most=most)
    if isinstance(found, Obstacle):
        return found
    return ParallelLoop(counted, tuple(counters), tuple(reductions), private, found)


def private_objects(loop: CountedLoop) -> tuple[Instruction, ...]:
    """Stack objects from outside the loop that begin their life in each iteration, and are used nowhere else."""
    inside = set(loop.blocks)
    return tuple(
        value
        for value in captured_by(loop)
        if isinstance(value, Instruction)
        and value.op == "alloca"
        and all(user.block in inside for user in value.instruction_users())
        and _begins_in(loop, value)
    )


def _begins_in(loop: CountedLoop, value: Value) -> bool:
    """Whether the life of a stack object begins in the loop."""
    return any(
        (user.callee_name or "").startswith("llvm.lifetime.start") and user.block in loop.blocks
        for user in value.instruction_users()
    )


def captured_by(loop: CountedLoop) -> tuple[Value, ...]:
    """What the loop uses from outside, but for what the φs of its header start with."""
    inside = set(loop.blocks)
    found: dict[Value, None] = {}
    for block in loop.blocks:
        for instruction in block.instructions:
            if instruction.is_phi and block is loop.header:
                continue
            for value in instruction.used_values():
                if isinstance(value, Argument) or _is_outside(value, inside):
                    found[value] = None
    return tuple(found)


def _is_outside(value: Value, inside: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block not in inside


def _where(loop: CountedLoop, phi: Instruction) -> Instruction:
    """An instruction with a source line for what a φ carries: that which gives it its next value."""
    update = phi.incoming_value(loop.latch)
    return update if isinstance(update, Instruction) and update.loc is not None else phi


def _may_be_reordered(loop: CountedLoop, reduction: Reduction) -> bool:
    """Whether every operation that forms the sum or product is marked so."""
    inside = set(loop.blocks)
    work, seen = [reduction.phi], {reduction.phi}
    while work:
        for user in work.pop().instruction_users():
            if user in seen or user.block not in inside:
                continue
            if is_rounded(user) and not {"reassoc", "fast"} & set(user.flags):
                return False
            seen.add(user)
            work.append(user)
    return True


def _behind(
    loop: CountedLoop,
    counters: list[Counter],
    reductions: list[Reduction],
    handled: Collection[Instruction],
) -> Obstacle | None:
    known: set[Value] = {v for c in counters for v in (c.phi, c.following)}
    known |= {v for r in reductions for v in (r.phi, r.update)}
    known |= {v for phi in handled for v in (phi, phi.incoming_value(loop.latch))}
    inside = set(loop.blocks)
    for block in loop.blocks:
        for instruction in block.instructions:
            users = [u for u in instruction.instruction_users() if u.block not in inside]
            if users and instruction not in known:
                return Obstacle(
                    "a value that is set in the loop is read behind it: it would be that of the last iteration",
                    instruction if instruction.loc is not None else users[0],
                    "store it to an array, or reduce it",
                )
        for instruction in block.instructions:
            if is_convergent(instruction) and (instruction.callee_name or "").startswith("weft.barrier"):
                return Obstacle("there is a barrier in the loop", instruction)
    return None


def _memory(
    function: Function,
    view: CFGView,
    loop: CountedLoop,
    counters: list[Counter],
    layout: DataLayout,
    private: tuple[Instruction, ...],
    *,
    promised: bool,
    most: int | None,
) -> Obstacle | tuple[Instruction, ...]:
    """What accesses to memory are in the way, or writes that may be."""
    ranges = ranges_of(function, view)
    found = loop_dependences(view, loop, counters, ranges, layout, private, most)
    suspects: dict[Instruction, None] = {}
    far: Obstacle | None = None
    for dependence in found:
        if dependence.certain and not dependence.harmless:
            obstacle = _certain(dependence, asks=promised and most is None)
            if obstacle.beyond is None:
                return obstacle
            if far is None or (far.beyond or 0) > obstacle.beyond:
                far = obstacle
        if not promised and not dependence.certain:
            return _possible(dependence)
        if dependence.guarded and not dependence.harmless:
            suspects[dependence.write] = None
    return tuple(suspects) if far is None else far


def _certain(dependence: LoopDependence, *, asks: bool) -> Obstacle:
    what = "written" if dependence.other.op == "store" else "read"
    if dependence.distance is None:
        each = "each iteration writes" if dependence.each else "iterations write"
        message = f"{each} the same element, and it is {what} in others"
        if dependence.write is dependence.other:
            message = f"{each} the same element"
        return Obstacle(message, dependence.write, "use a scalar that the loop reduces, or an atomic")
    distance = abs(dependence.distance)
    times = "iteration" if distance == 1 else "iterations"
    order = "later" if dependence.distance > 0 else "earlier"
    return Obstacle(
        f"the element written here is {what} {distance} {times} {order}",
        dependence.write,
        "run the loop in order",
        distance if asks and distance >= MOST_LANES else None,
    )


def _possible(dependence: LoopDependence) -> Obstacle:
    write, other = dependence.write, dependence.other
    if write is other and write.op != "store":
        return Obstacle("what this does to memory may meet other iterations", write)
    if write is other:
        return Obstacle("different iterations may write the same element", write)
    what = "write" if other.op == "store" else "read"
    return Obstacle(f"other iterations may {what} what is written here", write)
