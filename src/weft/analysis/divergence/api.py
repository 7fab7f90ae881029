"""How an analysis is started."""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.divergence.engine import Engine
from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.divergence.operands import Operands
from weft.analysis.divergence.result import Divergence
from weft.analysis.divergence.rules import RULES
from weft.analysis.divergence.summaries import Summaries, summaries_of
from weft.analysis.divergence.threads import Scope, ThreadSet
from weft.analysis.shapes import Domain, Product, Shape
from weft.ir import Argument, Function, Value
from weft.ir.intrinsics import KERNEL_ATTRIBUTE
from weft.ir.layout import DataLayout

_KERNEL_CONVENTIONS = {"ptx_kernel", "amdgpu_kernel", "spir_kernel"}


def analyze_divergence(
    function: Function,
    *,
    domain: Domain | None = None,
    initial: Mapping[Value, Shape] | None = None,
    scope: Scope | str = Scope.LANES,
    width: int | None = None,
    dimension: int | None = 0,
    summaries: Summaries | None = None,
    partial_entry: bool = False,
    ranges: bool = True,
    facts: FunctionFacts | None = None,
) -> Divergence:
    """Compute which values of `function` are alike in all threads of a set, and which branches are divergent.

    Parameters
    ----------
    function
        P-LLVM before, amid or after linearization.
    domain
        The lattice of shapes, with the lane space as its extents; by default the product of all lattices over
        ``(width,)``, or over the three dimensions of the ids in a wider scope.
    initial
        Shapes given for arguments (and instructions, which then keep them). All other arguments are uniform in a
        kernel or where marked ``inreg``, and varying elsewhere.
    scope, width, dimension
        The thread set (`ThreadSet`): what uniform is to mean.
    summaries
        Results for called functions; by default those that all analyses of the module share.
    partial_entry
        Whether the function may be entered by a part of the threads.
    ranges
        Whether to ask what numbers values can be; not needed where nearly all shapes are given.
    facts
        What another analysis of the function, which is as it was then, has found out for any threads.
    """
    scope = Scope(scope)
    if domain is None:
        domain = Product((width,) if scope is Scope.LANES else (None, None, None))
    threads = ThreadSet(scope, domain, dimension)
    summaries = summaries_of(function) if summaries is None else summaries
    summaries.begin()
    engine = run_engine(
        facts or FunctionFacts(function),
        threads,
        initial=initial or {},
        summaries=summaries,
        partial_entry=partial_entry,
        with_ranges=ranges and domain.name != "basic",
    )
    return Divergence(engine)


def run_engine(
    facts: FunctionFacts,
    threads: ThreadSet,
    *,
    initial: Mapping[Value, Shape],
    summaries: Summaries,
    partial_entry: bool,
    with_ranges: bool,
) -> Engine:
    """The fixed point for one function."""
    function = facts.function
    layout = function.layout
    shapes: dict[Value, Shape] = dict(initial)
    for argument in function.args:
        if argument not in shapes:
            shapes[argument] = _default_shape(function, argument, threads.domain, layout)
    engine = Engine(
        facts, threads, layout, shapes, summaries, RULES,
        with_ranges=with_ranges, partial_entry=partial_entry,
    )  # fmt: skip
    engine.run()
    return engine


def is_kernel(function: Function) -> bool:
    """Whether the host calls the function, with the same arguments for every thread."""
    if function.calling_convention in _KERNEL_CONVENTIONS or function.attribute(KERNEL_ATTRIBUTE) is not None:
        return True
    return function.attribute("kernel") is not None


def _has_scalar_registers(function: Function) -> bool:
    """Whether ``inreg`` means a register that all lanes share, as on GPUs; elsewhere it is one like any other."""
    triple = function.module.triple if function.module is not None else ""
    return not triple or triple.startswith(("amdgcn", "r600", "nvptx", "spir"))


def _default_shape(function: Function, argument: Argument, domain: Domain, layout: DataLayout) -> Shape:
    if is_kernel(function) or ("inreg" in argument.attributes and _has_scalar_registers(function)):
        return uniform_argument(argument, domain, layout)
    bits = Operands(domain, layout).bits(argument.type)
    return domain.varying(bits, _alignment(argument) if bits else 1)


def uniform_argument(argument: Argument, domain: Domain, layout: DataLayout) -> Shape:
    """The shape of a parameter that is the same in all lanes: with the alignment that its attributes promise."""
    bits = Operands(domain, layout).bits(argument.type)
    return domain.uniform(bits, _alignment(argument) if bits else 1)


def _alignment(argument: Argument) -> int:
    return max((int(a.split()[1]) for a in argument.attributes if a.startswith("align ")), default=1)
