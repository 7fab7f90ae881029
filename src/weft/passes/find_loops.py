"""The one finder of loops that are to run in lanes, for every door.

It looks for them one by one, as each that is strip-mined changes the function. Doors differ in which loops they want
and what they know of them (`Wanted`), and in what then becomes of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, build_iterations, counted_loop
from weft.analysis.loops.loop_promises import LoopPromises, loop_promises
from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import unmark
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.version_loop import version_loop


class Wanted(Struct, frozen=True):
    """A loop that is to run in lanes, and what is known of it beside the program.

    Parameters
    ----------
    loop
        The loop.
    refused
        What remarks and errors say where it cannot, before the reason.
    promised
        Whether its accesses are said not to meet across iterations.
    reassociate
        Whether float sums and products may be formed in another order.
    required
        Whether it is an error if it cannot.
    width
        Lanes that it asks for; None for those of the unit.
    whole_nest
        Whether what is promised of it is promised of the loops inside, too.
    """

    loop: Loop
    refused: str
    promised: bool
    reassociate: bool
    required: bool = False
    width: int | None = None
    whole_nest: bool = False


class LegalLoop(Struct, frozen=True):
    """A loop that may run in lanes.

    Parameters
    ----------
    function, view
        The function that it is in, and its control flow.
    wanted
        The loop, and what is known of it.
    plan
        How it may run.
    number
        Which loop of the function it is that may, counted from 1.
    """

    function: Function
    view: CFGView
    wanted: Wanted
    plan: ParallelLoop
    number: int

    @property
    def header(self) -> str:
        """The name of its header."""
        return self.plan.loop.header.name


UnitT = TypeVar("UnitT", bound=LoopUnit)


def find_loops(
    unit: UnitT,
    function: Function,
    candidates: Callable[[CFGView], Iterator[Wanted]],
    strip: Callable[[UnitT, LegalLoop], FoundLoop],
) -> set[str]:
    """Strip-mine the loops of a function that may run in lanes; the headers of all that were looked at.

    Parameters
    ----------
    unit
        Gets the loops, and remarks on others.
    candidates
        The loops that are wanted, in the function as it is.
    strip
        Has one run in lanes, so that it is none of the function's loops any more, or another one.

    Raises
    ------
    UnsupportedError
        A loop that is required to cannot.
    """
    seen: set[str] = set()
    most: dict[str, int] = {}
    number = 0
    while (found := _next(function, candidates, seen)) is not None:
        view, wanted = found
        header = view.blocks[wanted.loop.header]
        seen.add(header.name)
        plan = parallel_loop(
            function, view, wanted.loop, unit.module.layout,
            promised=wanted.promised, reassociate=wanted.reassociate, most=most.get(header.name),
        )  # fmt: skip
        if isinstance(plan, Obstacle) and plan.beyond is not None and header.name not in most:
            most[header.name] = plan.beyond
            _run_few_in_parallel(unit, function, header, plan)
            seen.discard(header.name)
            continue
        if isinstance(plan, ParallelLoop):
            number += 1
            _remark_suspects(unit, plan)
            unit.loops.append(strip(unit, LegalLoop(function, view, wanted, plan, number)))
            continue
        span = (plan.at and span_of(plan.at)) or span_of(header.terminator)
        message = f"{wanted.refused}: {plan.message}"
        if wanted.required:
            raise UnsupportedError(message, span, plan.hint)
        unit.remarks.add(RemarkKind.MISSED, message, span, plan.hint, "parallel loops")
    return seen


def _run_few_in_parallel(unit: LoopUnit, function: Function, header: BasicBlock, plan: Obstacle) -> None:
    """Give a promised loop a copy that runs in order, where it has so many iterations that they meet."""
    most = plan.beyond
    assert most is not None
    span = span_of(plan.at) if plan.at is not None else None
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"{plan.message}: the loop runs in order where it has more than {most} iterations",
        span or span_of(header.terminator),
        pass_name="parallel loops",
    )
    close_loops(function)
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop), counted
    copies = version_loop(
        function,
        view,
        loop,
        lambda builder: builder.icmp("ule", build_iterations(counted, builder), const_int(most)),
        seldom=True,
    )
    for copy in copies.values():
        unmark(copy.terminator)


def _remark_suspects(unit: LoopUnit, plan: ParallelLoop) -> None:
    for write in plan.suspects:
        unit.remarks.add(
            RemarkKind.ASSUMPTION,
            "this is right only if no two iterations come here: they would write the same element",
            span_of(write),
            "use a scalar that the loop reduces, or an atomic",
            "parallel loops",
        )


def promises_of(view: CFGView, loop: Loop) -> LoopPromises:
    """What metadata says of a loop."""
    return loop_promises(view.blocks[loop.latches[0]], tuple(view.blocks[b] for b in loop.blocks))


def promises_inside(view: CFGView, loop: Loop) -> list[LoopPromises]:
    """What it says of the loops in a loop."""
    return [promises_of(view, x) for x in loop_forest(view.cfg).loops if x is not loop and loop.contains(x)]


def is_in_promised(view: CFGView, loop: Loop) -> bool:
    """Whether a loop is in one of which it says that it is parallel."""
    return any(promises_of(view, x).parallel for x in loop.ancestors() if x is not loop)


def _next(
    function: Function, candidates: Callable[[CFGView], Iterator[Wanted]], seen: set[str]
) -> tuple[CFGView, Wanted] | None:
    view = cfg_of(function)
    for wanted in candidates(view):
        if view.blocks[wanted.loop.header].name not in seen:
            return view, wanted
    return None
