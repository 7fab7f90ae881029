"""Files with the kernels of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from weft.diag.errors import EmissionError
from weft.diag.source import SourceSpan
from weft.loops.emission.arguments import HINT, Target
from weft.loops.emission.cuda_file import CudaFile
from weft.loops.emission.elements import element_plan
from weft.loops.emission.grids import grid_plan
from weft.loops.emission.host_loops import host_plan
from weft.loops.emission.nests import Form, Nest, Refusal, nests_of
from weft.loops.emission.opencl_file import OpenClFile
from weft.loops.emission.parameters import legal
from weft.loops.emission.plan import Plan
from weft.loops.emission.reductions import reduction_plan
from weft.loops.emission.scans import scan_plan
from weft.loops.emission.searches import search_plan
from weft.loops.emission.subscripts import Shape
from weft.loops.emission.whole import whole_plan
from weft.report.loops.counters import loops_around

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport


_PLANS = {
    Form.GRID: grid_plan,
    Form.REDUCTION: reduction_plan,
    Form.SCAN: scan_plan,
    Form.SEARCH: search_plan,
}


class EmittedKernel(Struct, frozen=True):
    """A loop of a file.

    Parameters
    ----------
    name, line
        Its kernel, the first of several, and the line of the loop.
    parameters
        The names of what the function for the host takes, or in OpenCL C the kernel.
    launcher
        The function for the host; empty in OpenCL C.
    kernels
        All kernels of the loop, in the order of their launches, with the names of their parameters.
    results
        What the program calls the numbers that the loop hands on.
    """

    name: str
    line: int
    parameters: tuple[str, ...]
    launcher: str
    kernels: tuple[tuple[str, tuple[str, ...]], ...]
    results: tuple[str, ...]


class EmittedSource(Struct, frozen=True):
    """A file with kernels.

    Parameters
    ----------
    text
        The file.
    kernels
        What is in it.
    refused
        Loops of the function that became none: their lines, and why.
    """

    text: str
    kernels: tuple[EmittedKernel, ...]
    refused: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        return self.text


def emit_report(
    report: LoopNestReport,
    language: str,
    shapes: Mapping[str, Mapping[str, Shape]] | None = None,
    *,
    fastmath: bool = False,
) -> EmittedSource:
    """Write the loops of a report that may run as kernels.

    Parameters
    ----------
    report
        The report on the loops of some functions.
    language
        ``cuda`` for CUDA-Python, ``opencl`` for OpenCL C.
    shapes
        Of each function the arrays of Python that it takes.
    fastmath
        Whether sums and products of floats may be formed in another order.

    Raises
    ------
    EmissionError
        No loop can be written; the error is that of the first.
    """
    written: list[tuple[EmittedKernel, str]] = []
    refused: list[Refusal] = []
    first: EmissionError | None = None
    writer = CudaFile(report) if language == "cuda" else OpenClFile(report)
    counts: dict[str, int] = {}
    found = list(nests_of(report, fastmath))
    left = [n for n in found if isinstance(n, Nest)]
    for nest in found:
        if isinstance(nest, Refusal):
            refused.append(nest)
            continue
        if nest not in left:
            continue
        function = nest.report.function
        counts[function] = counts.get(function, 0) + 1
        number = "" if counts[function] == 1 else f"_{counts[function]}"
        target = _target((shapes or {}).get(function, {}), language)
        try:
            plan, used = _plan(report, nest, left, f"{legal(function)}{number}", target)
            written.append((_emitted(plan, language), writer.add(plan)))
            left = [n for n in left if n not in used]
        except EmissionError as error:
            first = first or error
            line = nest.report.line if error.span is None else error.span.line
            refused.append(Refusal(line, error.message))
    if not written:
        if first is not None:
            raise first
        file = report.loops[0].file if report.loops else ""
        span = SourceSpan(file, refused[0].line) if refused and refused[0].line else None
        reason = refused[0].reason if refused else "there are no loops"
        raise EmissionError(f"no loop can be a kernel: {reason}", span, HINT)
    told = tuple((r.line, r.reason) for r in refused)
    return EmittedSource(writer.file([t for _, t in written], told), tuple(k for k, _ in written), told)


def _target(shapes: Mapping[str, Shape], language: str) -> Target:
    # Arrays of OpenCL C have one dimension.
    unsigned = {n: s.is_unsigned for n, s in shapes.items()}
    return Target(shapes, {}, True) if language == "cuda" else Target({}, unsigned, False)


def _plan(
    report: LoopNestReport, nest: Nest, left: Sequence[Nest], name: str, target: Target
) -> tuple[Plan, list[Nest]]:
    """The plan of a nest, or of a loop around it with all nests in it; and the nests that are in the plan."""
    around = list(loops_around(nest.loop))[1:]
    mine = [n for n in left if n.loop.scope is nest.loop.scope]
    for loop in reversed(around):
        own = next((r for r in report.loops if r.loop is loop), None)
        inside = [n for n in left if loop.contains(n.loop)]
        if own is None or any(n.form is not Form.GRID for n in inside):
            continue
        try:
            plan = host_plan(own, inside, name, target)
        except EmissionError:
            # The loop inside may do.
            continue
        else:
            whole = _whole_plan(mine, name, target) if len(inside) < len(mine) else None
            return (plan, inside) if whole is None else (whole, mine)
    whole = _whole_plan(mine, name, target) if around or len(mine) > 1 else None
    return (_own_plan(nest, name, target), [nest]) if whole is None else (whole, mine)


def _own_plan(nest: Nest, name: str, target: Target) -> Plan:
    plan = element_plan(nest, name, target) if nest.updates and not nest.groups else None
    return plan or _PLANS[nest.form](nest, name, target)


def _whole_plan(nests: Sequence[Nest], name: str, target: Target) -> Plan | None:
    """The plan of a function as a whole, if the host can run what is around its kernels."""
    if any(n.form is Form.SEARCH for n in nests):
        return None
    target = replace(target, keeps_numbers=True)
    try:
        own = [_own_plan(n, name if k == 1 else f"{name}_{k}", target) for k, n in enumerate(nests, 1)]
        return whole_plan(nests, name, target, own)
    except EmissionError:
        return None


def _emitted(plan: Plan, language: str) -> EmittedKernel:
    kernels = tuple((k.name, tuple(a.name for a in k.arguments)) for k in plan.kernels)
    results = tuple(r.name for r in plan.results)
    if plan.returned is not None:
        results = (plan.returned.text if plan.returned.op == "name" else "result",)
    if language == "cuda":
        given = tuple(a.name for a in plan.arguments)
        return EmittedKernel(kernels[0][0], plan.line, given, f"run_{plan.name}", kernels, results)
    return EmittedKernel(kernels[0][0], plan.line, kernels[0][1], "", kernels, results)
