"""What the iterations of a loop hand on, and how threads combine what each of them has of it.

A thread begins with what changes nothing, the *identity*: 0 of sums, the greatest number of minima. Sums, products and
the like of two threads are combined by their operation. A minimum or maximum may come with the place where it is, and
of equal ones the loop keeps the first or the last: then threads also hand on in which iteration they found theirs, so
that the result is that of the loop in order, with -0.0 and 0.0, which are equal, and elements that are no numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.loops.reductions import Combination, is_rounded, reduction_of
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.combinations import narrow_reduction, scanned_by
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.patterns import Carried, Pattern, carried_values
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.replacements import Shape, compared, replacement_of, shape_of
from weft.analysis.sequential.scope import LoopContext
from weft.ir import Instruction, Poison, Value
from weft.ir.types import I1, FloatType, IntType, Type
from weft.loops.emission.tree import Node

_SIGNS = {
    Combination.ADD: "+", Combination.FADD: "+", Combination.MUL: "*", Combination.FMUL: "*", Combination.AND: "&",
    Combination.OR: "|", Combination.XOR: "^",
}  # fmt: skip
_TRUTH = {Combination.AND: "and", Combination.OR: "or", Combination.XOR: "!="}
_CALLS = {
    Combination.SMIN: "min", Combination.SMAX: "max", Combination.UMIN: "min", Combination.UMAX: "max",
    Combination.FMINNUM: "fmin", Combination.FMAXNUM: "fmax",
}  # fmt: skip
_OF_INTEGERS = {
    ("s", True): Combination.SMIN, ("s", False): Combination.SMAX,
    ("u", True): Combination.UMIN, ("u", False): Combination.UMAX,
}  # fmt: skip
_LEAST = (Combination.SMIN, Combination.UMIN, Combination.FMIN)
_BY_SELECT = (Combination.FMIN, Combination.FMAX)
_BY_NAME = {"add": Combination.ADD, "sub": Combination.ADD, "fadd": Combination.FADD, "fsub": Combination.FADD,
            "mul": Combination.MUL, "fmul": Combination.FMUL, "and": Combination.AND, "or": Combination.OR,
            "xor": Combination.XOR}  # fmt: skip


class Extremum(Struct, frozen=True):
    """How of two minima or maxima one is chosen.

    Parameters
    ----------
    is_least
        Whether it is a minimum.
    keeps_last
        Whether the last of equal ones is kept, else the first.
    """

    is_least: bool
    keeps_last: bool


class Group(Struct, frozen=True):
    """Values that are handed on together.

    Parameters
    ----------
    phis
        The values; a minimum or maximum stands first, then what goes with it.
    starts
        What they are before the loop.
    combination
        How they are combined; None for an extremum.
    extremum
        How the first of them is chosen; the others go with it.
    rounds
        Whether another order gives other bits.
    operations
        What combines in the loop; in another order integers may leave their width on the way.
    is_exact
        Whether they never do.
    first
        The element that the first of them is before the loop, which is not there if no iteration follows; None for
        numbers that are known before the loop.
    """

    phis: tuple[Instruction, ...]
    starts: tuple[Value, ...]
    combination: Combination | None
    extremum: Extremum | None = None
    rounds: bool = False
    operations: tuple[Instruction, ...] = ()
    is_exact: bool = False
    first: Access | None = None

    @property
    def type(self) -> Type:
        """The type of the first value."""
        return self.phis[0].type

    def identity(self) -> Node:
        """What changes nothing when it is combined."""
        return identity(self.combination, self.type, self.extremum)


def groups_of(accesses: Accesses, loop: LoopContext, patterns: Sequence[Pattern]) -> list[Group] | str:
    """What a loop hands on, or why it has no form for several threads.

    Parameters
    ----------
    patterns
        Those that have a form here, beside counters.
    """
    made = accesses.reconstruction
    shape = shape_of(made, loop)
    if shape is None:
        return "it is entered or repeated in more than one way"
    carried = [c for c in carried_values(made, loop, shape) if c.pattern is not Pattern.COUNTER]
    found: list[Group] = []
    places: dict[Value, list[Instruction]] = {}
    for value in carried:
        if value.pattern not in patterns:
            return f"{value_name(value.phi)} is handed from iteration to iteration"
        group = _group(value, shape, made, loop)
        if isinstance(group, str):
            chosen = replacement_of(value.phi, shape)
            if chosen is None:
                return group
            places.setdefault(chosen.condition, []).append(value.phi)
        else:
            is_scan = value.pattern is Pattern.SCAN
            found.append(replace(group, first=_first(group, accesses, loop)) if is_scan else group)
    for condition, phis in places.items():
        group = _extremum(condition, phis, shape)
        if isinstance(group, str):
            return group
        found.append(group)
    order = [c.phi for c in carried]
    return sorted(found, key=lambda g: min(order.index(p) for p in g.phis))


def _first(group: Group, accesses: Accesses, loop: LoopContext) -> Access | None:
    """The element that a value is before the loop, if only the loop's iterations need it."""
    (phi,) = group.phis
    inside = set(loop.blocks)
    if any(u.block not in inside for u in phi.instruction_users()):
        return None
    value: Value = group.starts[0]
    while isinstance(value, Instruction) and value.is_phi:
        # Where no iteration follows there is no value.
        known = {v for v in value.operands if not isinstance(v, Poison)}
        if len(known) != 1 or len(known) == len(value.operands):
            return None
        (value,) = known
    if value is group.starts[0] or not isinstance(value, Instruction) or value.op != "load":
        return None
    assert value.block is not None
    found = [
        a
        for a in accesses.in_block(loop.scope, value.block)
        if isinstance(a, Access) and a.instruction is value
    ]
    return found[0] if len(found) == 1 and found[0].base is not None else None


def _group(value: Carried, shape: Shape, made: Reconstruction, loop: LoopContext) -> Group | str:
    phi = value.phi
    start = phi.incoming_value(shape.preheader)
    reason = f"{value_name(phi)} is combined in a way that has no form for several threads"
    if not isinstance(phi.type, IntType | FloatType):
        return reason
    if value.pattern is Pattern.REDUCTION:
        found, narrow = reduction_of(shape, phi), narrow_reduction(phi, shape)
        if narrow is not None:
            combination, operations = _BY_NAME[narrow.op], (narrow,)
        elif isinstance(found, str) or found.combination in _BY_SELECT:
            return reason
        else:
            combination, operations = found.combination, found.operations
    elif value.pattern is Pattern.COMPACTION:
        # What only grows, and stays in its width in the end, does so on the way.
        sums = [u for u in phi.instruction_users() if u.op == "add" and u.block in shape.blocks]
        is_exact = all("nsw" in u.flags for u in sums)
        return Group((phi,), (start,), Combination.ADD, is_exact=is_exact)
    else:
        operation = scanned_by(made, loop, phi, shape)
        if operation is None:
            return reason
        if operation.op in ("icmp", "fcmp"):
            return _extremum(operation, [phi], shape)
        operations = (operation,)
        stem = (operation.callee_name or "").rpartition(".")[0].removeprefix("llvm.")
        known = {c.value: c for c in Combination}
        given = Combination.FADD if stem in ("fmuladd", "fma") else known.get(stem)
        found_by = given if operation.op == "call" else _BY_NAME.get(operation.op)
        if found_by is None:
            return reason
        combination = found_by
    supported = combination in _CALLS or combination in (_TRUTH if phi.type is I1 else _SIGNS)
    if not supported:
        return reason
    rounds = any(is_rounded(i) for i in operations)
    return Group((phi,), (start,), combination, None, rounds, operations)


def _extremum(condition: Value, phis: list[Instruction], shape: Shape) -> Group | str:
    """A minimum or maximum, and what is replaced together with it."""
    reason = f"{value_name(phis[0])} is replaced under a condition that has no form for several threads"
    if not isinstance(condition, Instruction) or condition.op not in ("icmp", "fcmp"):
        return reason
    ends = compared(condition)
    first = next((p for p in phis if p in ends), None)
    chosen = None if first is None else replacement_of(first, shape)
    predicate: str = condition.predicate
    if first is None or chosen is None or len(predicate) != 3:
        return reason
    if not isinstance(first.type, IntType | FloatType) or predicate[1] not in "lg":
        return reason
    # Whether an element that is less than the present one makes the comparison true, and whether that replaces it.
    less = (predicate[1] == "l") == (ends[1] is first)
    extension = condition.operands[0] if ends[0] is not condition.operands[0] else None
    # What is extended without a sign is compared without one.
    sign = "u" if isinstance(extension, Instruction) and extension.op == "zext" else predicate[0]
    is_least = less == chosen.if_true
    keeps_last = (predicate[2] == "e") == chosen.if_true
    if isinstance(first.type, IntType) and len(phis) == 1:
        # Equal integers are the same.
        return Group((first,), (first.incoming_value(shape.preheader),), _OF_INTEGERS[sign, is_least])
    if isinstance(first.type, IntType) and sign == "u":
        return reason
    members = [first, *(p for p in phis if p is not first)]
    starts = tuple(p.incoming_value(shape.preheader) for p in members)
    return Group(tuple(members), starts, None, Extremum(is_least, keeps_last))


def identity(combination: Combination | None, type: Type, extremum: Extremum | None = None) -> Node:
    """What changes nothing when it is combined."""
    least = extremum.is_least if extremum is not None else combination in _LEAST
    if isinstance(type, FloatType):
        if extremum is not None or combination in _BY_SELECT:
            return Node("float", type, number=math.inf if least else -math.inf)
        if combination in (Combination.FMINNUM, Combination.FMAXNUM):
            return Node("float", type, number=math.nan)
        return Node("float", type, number=1.0 if combination is Combination.FMUL else 0.0)
    assert isinstance(type, IntType)
    if type is I1:
        return Node("int", I1, number=int(combination is Combination.AND))
    high = (1 << (type.bits - 1)) - 1
    if combination in (Combination.UMIN, Combination.UMAX):
        number = (1 << type.bits) - 1 if least else 0
        return Node("int", type, number=number, reading="u", is_nonnegative=not least)
    if extremum is not None or combination in (Combination.SMIN, Combination.SMAX):
        number = high if least else -high - 1
    else:
        number = {Combination.MUL: 1, Combination.AND: -1}.get(combination, 0) if combination else 0
    return Node("int", type, number=number, is_nonnegative=number >= 0)


def combined(combination: Combination, a: Node, b: Node, *, is_exact: bool = False) -> Node:
    """Two values as one.

    Parameters
    ----------
    is_exact
        Whether integers are known not to leave their width.
    """
    type = a.type
    if type is I1:
        return Node(_TRUTH[combination], I1, (a, b))
    reading = given = a.reading
    if combination in (Combination.UMIN, Combination.UMAX):
        reading = "u"
        a, b = (n if n.reading == "u" else Node("unsigned", type, (n,), reading="u") for n in (a, b))
    if combination in _CALLS:
        node = Node("call", type, (a, b), _CALLS[combination], reading=reading)
        return node if reading == given else Node("signed", type, (node,))
    node = Node(_SIGNS[combination], type, (a, b), reading=reading)
    may_leave = (
        isinstance(type, IntType) and combination in (Combination.ADD, Combination.MUL) and not is_exact
    )
    if not may_leave:
        return node
    if node.bits == 64:
        return Node("wrap", type, (node,), reading=reading)
    node = Node("wrap", type, (node,), reading="u")
    return node if reading == "u" else Node("signed", type, (node,))
