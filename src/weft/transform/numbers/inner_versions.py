"""A version for lane groups that are not at an edge: ``max(x - r, 0)``, ``min(x + r, n - 1)``, ``(x + k) % n``.

Lanes side by side access neighbours at ``x - r``, but no shape can be told of ``max(x - r, 0)``, or of a remainder, as
some lanes may be at the edge. Few lane groups are. So it is asked once for a lane group whether in all of its lanes
such a choice is the number itself, and where it is a copy runs that has the number instead, and its shape:

    head: ...; i = max(x - r, 0)               head:  ...; br any(x - r < 0), edge, inner
          ... a[i] ...                         edge:  i = max(x - r, 0); ... a[i] ...
                                               inner: ... a[x - r] ...

What is a choice at an edge alone, `edge_choices` finds.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same, with one return, and nothing was
copied unless some access has lanes a known distance apart in the copy that had not. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase, split_block
from weft.ir.clone import ValueMap, clone_blocks, clone_function
from weft.ir.constants import is_zero
from weft.ir.effects import is_convergent
from weft.ir.intrinsics import declare
from weft.ir.types import IntType, Type
from weft.transform.numbers.edge_choices import LESS, EdgeChoice, EdgeNumber, edge_choices
from weft.transform.numbers.front_versions import simplify, straight_blocks
from weft.transform.unify_returns import unify_returns

LARGEST_COPY = 800
"""Functions of more instructions are not copied."""

AT_EDGE = 0.05
"""How likely a lane group is thought to be at an edge, where costs are estimated."""

AnalyzeCopy = Callable[[Function], Divergence]
"""Analyzes a function that has the parameters of the one that is copied."""


def add_inner_version(function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy) -> bool:
    """Give a function another version for lane groups that are not at an edge, where accesses are better.

    Parameters
    ----------
    function
        What threads run.
    divergence
        Of the function as it is.
    analyze_copy
        Analyzes a copy, by which it is judged.
    """
    tried = _try(function, divergence, analyze_copy)
    if tried is not None:
        _copy(function, tried.choices)
    return tried is not None


def strided_inside(
    function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy
) -> frozenset[Instruction]:
    """What gets a shape in the version for lane groups that are not at an edge: such numbers had better stay wide."""
    tried = _try(function, divergence, analyze_copy)
    return tried.strided if tried is not None else frozenset()


def has_inner_version(
    function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy, *, behind_guards: bool = False
) -> bool:
    """Whether a function would be given another version, which it is not.

    With `behind_guards` it is a kernel, and guards that become bounds of rows are still in it.
    """
    return _try(function, divergence, analyze_copy, behind_guards=behind_guards) is not None


def counts_from_the_end_alone(function: Function, divergence: Divergence) -> bool:
    """Whether lanes are at an edge only where indices count from the end."""
    choices = edge_choices(function, divergence)
    return bool(choices) and all(is_zero(choice.usual) for choice in choices)


class _Tried(Struct, frozen=True):
    """Choices that are worth a version, and what is strided in it alone."""

    choices: list[EdgeChoice]
    strided: frozenset[Instruction]


def _try(
    function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy, *, behind_guards: bool = False
) -> _Tried | None:
    if sum(1 for _ in function.instructions()) > LARGEST_COPY:
        return None
    if not any(_is_apart(i, divergence) for i in function.instructions()):
        return None
    if any(is_convergent(i) for i in function.instructions()):
        return None
    choices = edge_choices(function, divergence, behind_guards=behind_guards)
    if not choices:
        return None
    module = function.module
    assert module is not None
    values: ValueMap = {}
    trial = clone_function(function, f"{function.name}.inner", values)
    inner = _copy(trial, [_copied(choice, values) for choice in choices])
    found = analyze_copy(trial)
    added = _strided(trial.instructions(), found) - _strided(function.instructions(), divergence)
    if added <= _strided(_behind(function, choices), divergence):
        del module.functions[trial.name]
        return None
    strided = frozenset(
        i
        for i in function.instructions()
        if isinstance(i.type, IntType)
        and not divergence.shape(i).is_strided
        and isinstance(made := inner.get(values[i]), Instruction)
        and made.block is not None
        and found.shape(made).is_strided
    )
    del module.functions[trial.name]
    return _Tried(choices, strided)


def _is_apart(access: Instruction, divergence: Divergence) -> bool:
    return access.op in ("load", "store") and not divergence.shape(access.pointer).is_strided


def _strided(instructions: Iterable[Instruction], divergence: Divergence) -> int:
    """How many accesses have lanes a known distance apart."""
    accesses = (i for i in instructions if i.op in ("load", "store"))
    return sum(divergence.shape(i.pointer).is_strided for i in accesses)


def _copied(choice: EdgeChoice, values: ValueMap) -> EdgeChoice:
    def copy(value: Value) -> Value:
        return values.get(value, value)

    number = choice.number
    if number is not None:
        first, last = (None if v is None else copy(v) for v in (number.first, number.last))
        number = EdgeNumber(tuple(map(copy, number.terms)), first, last, number.behind)
    instruction = copy(choice.instruction)
    assert isinstance(instruction, Instruction)
    usual, limit = copy(choice.usual), copy(choice.limit)
    return EdgeChoice(instruction, usual, number, limit, choice.fails, choice.is_natural)


def _first_choice(function: Function, choices: list[EdgeChoice]) -> Instruction:
    """Before which instruction it is asked: the first choice, or the end of what runs before all branches."""
    chosen = {choice.instruction for choice in choices}
    straight = straight_blocks(function)
    found = (i for block in straight for i in block.instructions if i in chosen)
    return next(found, straight[-1].terminator)


def _behind(function: Function, choices: list[EdgeChoice]) -> Iterator[Instruction]:
    """What is there twice."""
    at = _first_choice(function, choices)
    straight = straight_blocks(function)
    assert at.block is not None
    before = set(straight[: straight.index(at.block)])
    instructions = at.block.instructions
    yield from instructions[instructions.index(at) :]
    for block in function.blocks:
        if block is not at.block and block not in before:
            yield from block.instructions


def _copy(function: Function, choices: list[EdgeChoice]) -> ValueMap:
    """Ask, and let all that follows be there twice; what became of it in the copy."""
    at = _first_choice(function, choices)
    head = at.block
    assert head is not None and function.module is not None
    straight = straight_blocks(function)
    before = set(straight[: straight.index(head) + 1])
    there = {i for block in before if block is not head for i in block.instructions}
    there |= set(head.instructions[: head.instructions.index(at)])

    def hoist(value: Value) -> None:
        if isinstance(value, Instruction) and value not in there:
            for operand in value.operands:
                hoist(operand)
            there.add(value)
            value.detach()
            assert at.block is not None
            at.block.insert_before(at, value)

    for choice in choices:
        for value in (*(choice.number.values if choice.number else ()), choice.limit):
            hoist(value)
    rest = split_block(at, "edge")
    head.terminator.erase()
    b = Builder(head)
    b.loc = at.loc
    some: Value = FALSE
    for asked in dict.fromkeys(q for choice in choices for q in _questions(b, choice)):
        # What one choice is about may be undefined where another one counts.
        frozen = b.unary("freeze", asked)
        some = frozen if some is FALSE else b.binary("or", some, frozen)
    some = b.call(declare(function.module, "weft.any"), (some,))
    copied = [block for block in function.blocks if block not in before]
    values: ValueMap = {}
    clone_blocks(copied, function, values)
    inner = values[rest]
    assert isinstance(inner, BasicBlock)
    inner.name = "inner"
    for choice in choices:
        _replace(choice, values)
    simplify(values[block] for block in copied)
    b.cond_br(some, rest, inner).attrs["chance"] = AT_EDGE
    unify_returns(function)
    return values


def _questions(b: Builder, choice: EdgeChoice) -> Iterator[Value]:
    """What must not hold of any lane."""
    number, type = choice.number, choice.limit.type
    if number is None:
        yield b.icmp(choice.fails, choice.limit, TRUE)
        return
    least, *more = (_extended(b, term, type) for term in number.terms)
    for term in more:
        least = b.binary("add", least, term)
    greatest = least
    if number.first is not None and number.last is not None:
        first, last = _extended(b, number.first, type), _extended(b, number.last, type)
        last = b.binary("sub", last, const_int(1, type)) if number.behind else last
        least, greatest = b.binary("add", least, first), b.binary("add", least, last)
        yield b.icmp("sgt", first, last)
        yield b.icmp("sgt", least, greatest)
    if choice.is_natural:
        yield b.icmp("slt", least, const_int(0, type))
        # As signed numbers, since the limit may be none.
        yield b.icmp("slt", choice.limit, const_int(0, type))
    yield b.icmp(choice.fails, least if choice.fails in (*LESS, "ult") else greatest, choice.limit)


def _extended(b: Builder, value: Value, type: Type) -> Value:
    """A signed number with the bits of another one."""
    if value.type == type:
        return value
    return const_int(value.signed, type) if isinstance(value, ConstInt) else b.cast("sext", value, type)


def _replace(choice: EdgeChoice, values: ValueMap) -> None:
    """Let a choice of the copy be what it usually is."""
    made = values.get(choice.instruction)
    if isinstance(made, Instruction):
        usual = values.get(choice.usual, choice.usual)
        replace_and_erase(made, usual)
        values[choice.instruction] = usual
