"""What has to be tested when a loop is reached, so that what is said of it holds (assumptions, made conditions).

A verdict rests on assumptions. Each becomes inequalities of numbers that are known before the loop: a *condition* on
parameters is one; an *obligation* on values in the loop is one of its least and greatest values, with the iterations of
the loop and of those inside eliminated; that two pointers lead to different memory is one of the sections that the loop
touches through them, where the sections are known. What cannot be said in numbers known before the loop cannot be
tested, and the loop stays as it is.

That obligations are tested by expressions that rest on each other is no circle: if all tests hold, the first value of
a run that broke its obligation would have been computed from ones that kept theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from weft.analysis.memory.alias import locate
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.assumptions import Assumption, Obligation
from weft.analysis.sequential.invariants import is_apart, root_of
from weft.analysis.sequential.known_memory import size_of
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import Parameters, Section
from weft.analysis.sequential.whole_reads import is_scattered
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import bound_of
from weft.analysis.symbolic.facts import Facts
from weft.ir import Argument, BasicBlock, GlobalVariable, Instruction, Value
from weft.ir.types import IntType, PointerType


class Bytes(Struct, frozen=True):
    """The addresses from `low` up to `end`, or none where `low` is not below `end`."""

    low: Expression
    end: Expression


class RunTimeTests(Struct):
    """A conjunction, in what is known before a loop.

    Parameters
    ----------
    nonnegative
        Expressions that are 0 or greater.
    in_range
        Expressions that are integers of 64 bits with a sign.
    apart
        Pairs of ranges that have no byte in common.
    """

    nonnegative: dict[Expression, None] = field(default_factory=dict)
    in_range: dict[Expression, None] = field(default_factory=dict)
    apart: dict[tuple[Bytes, Bytes], None] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be tested."""
        return not (self.nonnegative or self.in_range or self.apart)

    def expressions(self) -> list[Expression]:
        """All that is computed."""
        found = [*self.nonnegative, *self.in_range]
        for a, b in self.apart:
            found += [a.low, a.end, b.low, b.end]
        return found


def run_time_tests(
    accesses: Accesses, loop: LoopContext, assumptions: Iterable[Assumption], parameters: Parameters
) -> RunTimeTests | str:
    """What to test before `loop`, or why that cannot be done, in words that follow "because".

    Parameters
    ----------
    assumptions
        Those of the loop, and of loops inside that are to run in parallel.
    parameters
        What the loop takes and gives.
    """
    tests = RunTimeTests()
    overlap = False
    for assumption in assumptions:
        if assumption.kind == "reassociation":
            continue
        if assumption.kind == "overlap":
            overlap = True
        elif assumption.condition is not None:
            if not _add_bound(tests.nonnegative, assumption.condition, Facts(), loop, upper=False):
                return f"it cannot be tested that {assumption.text}"
        elif assumption.obligation is not None:
            if not _add_obligation(tests, accesses, assumption.obligation, loop):
                return f"it cannot be tested that {assumption.text}"
        else:
            return f"it cannot be tested that {assumption.text}"
    if overlap:
        stale = _stale_load(accesses, loop)
        if stale is not None:
            return stale
        missing = _add_sections(tests, accesses, loop, parameters)
        if missing is not None:
            return missing
    for expression in tests.expressions():
        for symbol in expression.symbols():
            if not is_known_before(accesses, symbol, loop):
                return f"{symbol.name}, which a test would need, is not known before the loop"
    return tests


def test_that_body_runs(
    tests: RunTimeTests, accesses: Accesses, inner: LoopContext, loop: LoopContext
) -> bool:
    """Test before `loop` that the body of a loop in it runs at least once; false if that cannot be tested."""
    made = accesses.reconstruction
    trips = made.trip_count(inner)
    if trips is None:
        return False
    mine: dict[Expression, None] = {}
    if not _add_bound(mine, trips - 1, made.facts(loop.scope, inner.header), loop, upper=False):
        return False
    if not all(is_known_before(accesses, s, loop) for e in mine for s in e.symbols()):
        return False
    tests.nonnegative.update(mine)
    return True


def _add_obligation(
    tests: RunTimeTests, accesses: Accesses, obligation: Obligation, loop: LoopContext
) -> bool:
    made, scope = accesses.reconstruction, loop.scope
    if obligation.block not in scope.view.index:
        # In a function that is called.
        return False
    facts = accesses.ranges.complete(made.facts(scope, obligation.block), [obligation.value])
    headed = scope.loop_of(obligation.block)
    if headed is not None and headed.header is obligation.block:
        # What a header computes it computes once more than the body runs.
        trips = made.trip_count(headed)
        if trips is None:
            return False
        facts = facts.also([trips - as_expression(headed.iteration)])
    if obligation.is_nonnegative:
        return _add_bound(tests.nonnegative, obligation.value, facts, loop, upper=False)
    return all(_add_range(tests, obligation.value, facts, loop, upper=upper) for upper in (False, True))


def _add_range(
    tests: RunTimeTests, value: Expression, facts: Facts, loop: LoopContext, *, upper: bool
) -> bool:
    bound = _bound(value, facts, loop, upper=upper)
    if bound is None:
        return False
    if bound.constant is not None:
        return -(1 << 63) <= bound.constant < 1 << 63
    tests.in_range[bound] = None
    return True


def _add_bound(
    into: dict[Expression, None], value: Expression, facts: Facts, loop: LoopContext, *, upper: bool
) -> bool:
    bound = _bound(value, facts, loop, upper=upper)
    if bound is None:
        return False
    if bound.constant is None or bound.constant < 0:
        into[bound] = None
    return True


def _bound(value: Expression, facts: Facts, loop: LoopContext, *, upper: bool) -> Expression | None:
    """A bound of a value in a loop, in what is known before it."""

    def is_eliminated(symbol: Symbol) -> bool:
        return symbol.loop is not None and loop.contains(symbol.loop)

    return bound_of(value, is_eliminated, facts, upper=upper)


def _add_sections(
    tests: RunTimeTests, accesses: Accesses, loop: LoopContext, parameters: Parameters
) -> str | None:
    """Test that what is written is apart from the rest, where it is not known; why that cannot be done."""
    if not parameters.is_complete:
        return "it is not known what it touches"
    sections = [*parameters.outputs, *parameters.inputs]
    for number, written in enumerate(parameters.outputs):
        for other in sections[number + 1 :]:
            if other.base is written.base or _certainly_apart(written, other):
                continue
            bytes = [_bytes(tests, accesses, loop, section) for section in (written, other)]
            for section, touched in zip((written, other), bytes, strict=True):
                if touched is None:
                    return f"it is not known which bytes of {section.base.name} it touches"
            first, second = bytes
            assert first is not None and second is not None
            tests.apart[first, second] = None
    return None


def _certainly_apart(a: Section, b: Section) -> bool:
    first, second = a.base.origin, b.base.origin
    return isinstance(first, Value) and isinstance(second, Value) and is_apart(first, second)


def _bytes(tests: RunTimeTests, accesses: Accesses, loop: LoopContext, section: Section) -> Bytes | None:
    """The bytes of a section; where they are not known all that there are of the array."""
    base = as_expression(section.base)
    found = None
    if section.low is not None and section.end is not None:
        found = Bytes(base + section.low, base + section.end)
        if not any(is_scattered(access, loop) for access in section.accesses):
            return found
    size = size_of(accesses.reconstruction, loop, section.base, tests.nonnegative)
    return found if size is None else Bytes(base, base + size)


def _stale_load(accesses: Accesses, loop: LoopContext) -> str | None:
    """Why a load may not read what it is taken to read: something outside of the loop may write there, too.

    Sections say what the loop itself writes.
    """
    program, inside = accesses.reconstruction.program, set(loop.blocks)
    scope, invariants = loop.scope, accesses.reconstruction.invariants
    for load, region in invariants.assumed:
        read = locate(load.pointer, program.module.layout).base
        for writer, store in invariants.writes(region):
            if store.op != "store" or (writer is scope and store.block in inside):
                continue
            written = root_of(writer, locate(store.pointer, program.module.layout).base)
            if not is_apart(written, root_of(scope, read)):
                return "what is stored before it may be what is loaded in it"
    return None


def is_known_before(accesses: Accesses, symbol: Symbol, loop: LoopContext) -> bool:
    """Whether the program has a symbol's value when `loop` is entered."""
    origin, scope = symbol.origin, loop.scope
    if isinstance(origin, LoopContext):
        return origin is not loop and origin.contains(loop) and counter_of(origin) is not None
    if isinstance(origin, GlobalVariable):
        return True
    if not isinstance(origin, Value) or not isinstance(origin.type, IntType | PointerType):
        return False
    if isinstance(origin.type, IntType) and origin.type.bits > 64:
        return False
    if isinstance(origin, Argument):
        return origin in scope.function.args
    if not isinstance(origin, Instruction) or origin.block is None:
        return False
    if is_loaded_again(origin, loop):
        return True
    if any(a.kind == "overlap" for a in accesses.reconstruction.program.assumed.get(origin, ())):
        return False
    return _is_before(origin.block, loop)


def is_loaded_again(origin: Value, loop: LoopContext) -> bool:
    """Whether a value is loaded in a loop from a variable of the program, which can be read before the loop as well."""
    return (
        isinstance(origin, Instruction)
        and origin.op == "load"
        and isinstance(origin.pointer, GlobalVariable)
        and origin.block in loop.blocks
    )


def _is_before(block: BasicBlock, loop: LoopContext) -> bool:
    """Whether a block has run when a loop is entered, in the same iterations of the loops around."""
    scope = loop.scope
    if block not in scope.view.index or loop.contains(scope.loop_of(block)):
        return False
    around = scope.loop_of(block)
    return (around is None or around.contains(loop)) and scope.dominates(block, loop.header)


def counter_of(loop: LoopContext) -> tuple[Instruction, Value, int] | None:
    """A φ that counts a loop's iterations up or down, where it begins, and by how much it counts."""
    counted = loop.counted
    if isinstance(counted, str):
        return None
    return counted.counter.phi, counted.counter.start, counted.counter.step
