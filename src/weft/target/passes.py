"""Named lists of LLVM's passes, and running them over text.

Analysis wants the program as its author wrote it: loops not rotated, unrolled or unswitched, no block
duplicated, no branch threaded, no load moved onto another path. LLVM's pipelines do all of that from O1 on,
so before analysis single passes run, in lists that have names. After widening, control flow is what the
vectorizer made it, and a whole pipeline follows, without LLVM's own vectorizers.

What the passes of `CANONICAL` do to control flow (measured with LLVM 22):

- ``simplifycfg`` turns an if whose arms hold at most one cheap instruction that cannot trap into ``select``,
  merges the branches of ``a and b`` into one on ``select i1 a, i1 b, i1 false`` (``or`` likewise) when the
  second test is that cheap, merges blocks and drops empty ones. It keeps the empty latch of a loop, so that
  ``continue`` does not give a loop a second back edge, builds no lookup tables, and threads no branches
  through blocks that hold a store or a convergent call.
- ``instcombine`` makes one store of two to the same address at the ends of both arms of an if, and one
  load of two that only a φ uses; the source's accesses are all there only under `SROA_ONLY`. It
  canonicalizes address arithmetic: a sum in an index becomes two ``getelementptr``, a constant index one
  over ``i8``; where bits are known zero ``add`` becomes ``or disjoint``. It adds and drops no-wrap flags
  as it proves them. Extrema in extrema are made others before, as it is wrong about NaN
  (`weft.target.rewrites.nested_extrema`).
- ``newgvn`` merges equal computations and redundant loads where one dominates the other. It does not merge
  convergent calls. Its insertion of new φs is switched off, functions with more than 64 loops do without it, and
  stores that it takes away stay, as it may be wrong about them (`weft.target.newgvn`).
- ``loop-simplify`` gives each loop a preheader and exits of its own. In a loop with two back edges it may
  separate an inner loop: a front end that gives ``continue`` a latch block avoids that.

``reassociate`` is left out because it drops no-wrap flags, LICM because LLVM offers it only within pipelines.
"""

from __future__ import annotations

from msgspec import Struct

from weft.target.llvm import PASS_NAMES, ParsedModule, TargetMachine
from weft.target.newgvn import is_bounded
from weft.target.offered_math import IN_USE, without_offers
from weft.target.rewrites.carried_choices import with_carried_choices
from weft.target.rewrites.carried_last import with_carried_last
from weft.target.rewrites.compared_again import with_compared_again
from weft.target.rewrites.counted_lanes import with_counted_lanes
from weft.target.rewrites.exchanged_stores import with_exchanged_stores
from weft.target.rewrites.foreseen_fronts import with_foreseen_fronts
from weft.target.rewrites.fused_doubles import with_fused_doubles
from weft.target.rewrites.halved_masks import with_halved_masks
from weft.target.rewrites.joined_masks import with_joined_masks
from weft.target.rewrites.joined_votes import with_joined_votes
from weft.target.rewrites.mask_bytes import with_mask_bytes
from weft.target.rewrites.near_addresses import with_near_addresses
from weft.target.rewrites.numbers_in_memory import with_numbers_in_memory
from weft.target.rewrites.parted_masks import with_parted_masks
from weft.target.rewrites.register_votes import with_register_votes
from weft.target.rewrites.rising_stores import with_rising_stores
from weft.target.rewrites.saturated_sums import with_saturated_sums
from weft.target.rewrites.short_comparisons import with_short_comparisons
from weft.target.rewrites.signed_comparisons import with_signed_comparisons
from weft.target.rewrites.uniform_choices import with_blended_choices
from weft.target.vectorized_math import is_vectorized, with_own_math


class PassList(Struct, frozen=True):
    """LLVM's passes to run one by one.

    Parameters
    ----------
    name
        How remarks and reports call the list.
    passes
        LLVM's names.
    fresh_locals
        Whether variables become values before calls are inlined, where there are any. A function's variables are new
        in each call; behind inlining LLVM takes them for those of the call before, which iterations would hand on.
    """

    name: str
    passes: tuple[str, ...]
    fresh_locals: bool = False

    def __post_init__(self) -> None:
        unknown = set(self.passes) - PASS_NAMES
        if unknown:
            raise ValueError(f"not offered one by one: {', '.join(sorted(unknown))}")


class Pipeline(Struct, frozen=True):
    """LLVM's default pipeline of a level.

    Parameters
    ----------
    name
        How remarks and reports call it.
    level
        1 to 3.
    unroll
        Whether loops may be unrolled.
    vectorize
        Whether LLVM's loop and superword vectorizers run, on what weft has left scalar.
    superwords
        Whether the latter is one of them.
    once
        Whether only functions are simplified, each once, after those that always are have been inlined.
    """

    name: str
    level: int
    unroll: bool = True
    vectorize: bool = False
    superwords: bool = True
    once: bool = False


SROA_ONLY = PassList("sroa", ("always-inline", "globaldce", "sroa"))
"""For the view that people see: variables in registers, each access of the source still there."""

SEQUENTIAL = PassList(
    "sequential",
    ("always-inline", "globaldce", "sroa", "simplifycfg", "lowerswitch", "loop-simplify"),
    fresh_locals=True,
)
"""For the analysis of sequential loops: as people see them, each repeated from one block and entered from one.

Switches are branches, on which facts and statements rest.
"""

CANONICAL = PassList(
    "canonical",
    (
        *("always-inline", "globaldce", "sroa"),
        *("simplifycfg", "instcombine", "sccp", "simplifycfg"),
        *("newgvn", "instcombine", "simplifycfg", "adce"),
        *("loop-simplify", "lcssa"),
    ),
    fresh_locals=True,
)
"""The scalar optimization that analysis and vectorization start from."""

CLEANUP = PassList("cleanup", ("simplifycfg", "instcombine", "newgvn", "simplifycfg", "adce"))
"""For plain functions between two stages: folds what specialization made constant."""

INLINED = PassList(
    "inlined", ("always-inline", "globaldce", "simplifycfg", "instcombine", "loop-simplify", "lcssa", "adce")
)
"""For functions that are to stand where they are called, once their loops are plain code."""

FINAL = Pipeline("final", 2, once=True)
"""After widening. The whole pipeline O2 simplifies what is inlined twice, and takes twice as long for no faster code
(measured on ``bench/speed``); O3 adds unswitching on any invariant branch, for a quarter more compile time."""

WHOLE = Pipeline("whole", 3, vectorize=True)
"""For modules with code that weft has left scalar: serial parts of functions, loops inside of parallel ones. O3
writes out nests of loops up to twice as long as O2 does, whose rows become vectors then (LU of 50,000 matrices of 8 x 8
on Zen 3: 5.3 to 3.8 ms)."""

WHOLE_IN_ORDER = Pipeline("whole-in-order", 3, vectorize=True, superwords=False)
"""The same for modules whose loops add up several rows at a time, each in order, or wait for divisions: as a superword
they would be gathered (atax of PolyBench takes 5.8 ms so, 2.1 ms without; adi 78 and 63). So do searches by halves in
narrow numbers that go on together."""

_UNROLLED = ("loop-unroll", "instcombine", "simplifycfg")
"""Behind the simplification of functions: several rounds in one of short loops, as of counters for one thread.

Loops of functions with very many stay as they are (`weft.target.newgvn.is_bounded`): LLVM takes the square of their
number, 40 s for 400.
"""

FINAL_FAST = Pipeline("final-fast", 1, unroll=False)
"""After widening, where compile time matters more than the code's speed."""


def optimize(text: str, passes: PassList | Pipeline, machine: TargetMachine) -> str:
    """Return a module's text after the passes.

    Raises
    ------
    CompileError
        LLVM's parser or verifier refuses the module.
    """
    module = ParsedModule(text, machine)
    run(module, passes, machine)
    return str(module)


def run(module: ParsedModule, passes: PassList | Pipeline, machine: TargetMachine) -> None:
    """Run the passes over a parsed module, in place."""
    if isinstance(passes, PassList):
        if passes.fresh_locals and sum(not f.is_declaration for f in module.ref.functions) > 1:
            module.run_passes(("sroa",), machine)
        module.run_passes(passes.passes, machine)
        return
    if passes.once:
        module.run_passes(("always-inline", "globaldce"), machine)
        module.simplify_functions(passes.level, machine, unroll=passes.unroll)
        if passes.unroll:
            module.run_passes(_UNROLLED if is_bounded(module.ref) else _UNROLLED[1:], machine)
    else:
        module.run_pipeline(
            passes.level,
            machine,
            unroll=passes.unroll and is_bounded(module.ref),
            vectorize=passes.vectorize,
            superwords=passes.superwords,
        )
        if passes.vectorize:
            _take_own_math(module, machine)
            _withdraw_offers(module, machine)
    _change_text(module, machine)


_WITH_MASK_REGISTERS = (
    with_blended_choices, with_parted_masks, with_register_votes, with_near_addresses, with_counted_lanes
)  # fmt: skip

_WITHOUT_MASK_REGISTERS = (
    with_short_comparisons,
    with_signed_comparisons,
    with_blended_choices,
    with_compared_again,
    with_joined_masks,
    with_joined_votes,
    with_halved_masks,
    with_mask_bytes,
)


def _change_text(module: ParsedModule, machine: TargetMachine) -> None:
    """Let lanes be compared as the processor can, and such that fill several registers be asked one by one.

    Before that, what loops carry comes last in their sums: no pass of LLVM's sorts these any more.
    """
    before = text = str(module)
    for change in (
        with_carried_last,
        with_carried_choices,
        with_foreseen_fronts,
        with_exchanged_stores,
        with_saturated_sums,
        with_fused_doubles,
    ):
        text = change(text, machine.isa) or text
    for change in _WITH_MASK_REGISTERS if machine.isa.mask_registers else _WITHOUT_MASK_REGISTERS:
        text = change(text, machine.isa) or text
    text = with_numbers_in_memory(text, machine.isa) or text
    text = with_rising_stores(text, machine.isa) or text
    if text is not before:
        module.replace(text, machine)


def _withdraw_offers(module: ParsedModule, machine: TargetMachine) -> None:
    """Inline what the vectorizer has taken of the functions that it was offered, and forget the others."""
    try:
        module.ref.get_global_variable(IN_USE)
    except NameError:
        return
    module.replace(without_offers(str(module)), machine)
    module.run_passes(("always-inline", "globaldce"), machine)


def _take_own_math(module: ParsedModule, machine: TargetMachine) -> None:
    """Let loops that have been vectorized call mathematics of weft's own, inlined."""
    if not any(is_vectorized(f.name) for f in module.ref.functions):
        return
    text = with_own_math(str(module), machine.isa)
    if text is not None:
        module.replace(text, machine)
        module.run_passes(("always-inline", "globaldce"), machine)
