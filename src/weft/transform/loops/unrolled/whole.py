"""A loop whose rounds are several rounds of a shorter one, with no rest, becomes the shorter one.

    do 4 times body(i), i += s, while i != b           do body(i), i += s, while i != b

is what compilers make of a loop of which they know that its rounds are a multiple of four, and of the larger part of
others. What could be one round is the first of as many parts of each kind of instruction; it is one where a proof says
so (`weft.transform.loops.unrolled.terms`): run as often as that, it makes the same of state and memory.

The shorter loop is left in time: its counter comes to b in the last of its rounds, and in no other one before, as it
grows by ``s`` in each, and comes back to where it was only behind as many rounds as there are numbers.

Precondition: canonical P-LLVM without predicates, shadows and guards. Postcondition: no loop of one block is left of
which that was found. Preserves the program under FR: what a thread does is the same, in its order, but where it was
undefined before.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import IntType
from weft.transform.loops.unrolled.counts import counting, masked, total_of
from weft.transform.loops.unrolled.defined import has_base, is_defined
from weft.transform.loops.unrolled.rolling import copied, least_aligns
from weft.transform.loops.unrolled.rounds import divided, line_steps, plain_code
from weft.transform.loops.unrolled.shapes import OneBlockLoop
from weft.transform.loops.unrolled.sums import Sum, each_round, plus, scaled
from weft.transform.loops.unrolled.terms import MEMORY, Atoms, Place, Stuck, Terms

_FACTORS = (16, 8, 4, 2)
_LONGEST = 800
_ARITHMETIC = frozenset(("add", "sub", "shl", "mul", "getelementptr", "sext", "zext", "trunc"))
Steps = dict[Instruction, Sum]


class Shorter(Struct, frozen=True):
    """The loop that a loop could have been.

    Parameters
    ----------
    loop, factor
        The loop, and how many rounds are one of its rounds.
    lines
        The φs that grow by the same in each round, and by how much in one of the shorter loop.
    same
        What the last round computes, that which the first one computes in its place.
    """

    loop: OneBlockLoop
    factor: int
    lines: Steps
    same: dict[Value, Value]

    @property
    def states(self) -> list[Instruction]:
        """The other φs."""
        return [phi for phi in self.loop.phis if phi not in self.lines]

    def after_one(self, state: Instruction) -> Value:
        """What a state is behind one round."""
        following = self.loop.following(state)
        return self.same.get(following, following)


def undo_whole(function: Function) -> list[BasicBlock]:
    """Let loops that were unrolled without a rest be loops again; the blocks of these."""
    found: list[BasicBlock] = []
    for block in list(function.blocks):
        loop = _loop(block)
        if loop is not None and len(block.instructions) <= _LONGEST and _undo(function, loop):
            found.append(block)
    return found


def _loop(body: BasicBlock) -> OneBlockLoop | None:
    """The loop that a block is by itself, behind one block and before another one."""
    if body not in body.successors or len(body.successors) != 2:
        return None
    before = [b for b in body.predecessors if b is not body]
    (exit,) = (b for b in body.successors if b is not body)
    if len(before) != 1 or len(before[0].successors) != 1 or exit.predecessors != [body]:
        return None
    return OneBlockLoop(before[0], body, exit)


def _undo(function: Function, loop: OneBlockLoop) -> bool:
    terms = Terms(function, Atoms())
    counted = counting(terms, loop)
    if counted is None or not _hands_on_by_phis(loop):
        return False
    way = plus(counted[2], terms.of(loop.first(counted[0])), -1)
    for factor in _FACTORS:
        try:
            if (
                _is_multiple(terms, way, counted[1], factor)
                and (shorter := _shorter(terms, loop, factor)) is not None
            ):
                made = _Made(terms, shorter, counted[0], counted[2])
                if made.is_possible() and _agree(terms, shorter):
                    made.build()
                    return True
        except Stuck:
            continue
    return False


def _is_multiple(terms: Terms, way: Sum, step: int, factor: int) -> bool:
    """Whether so many rounds are one of a loop, which is known to come to its end."""
    if not step or step % factor:
        return False
    if all(f % step == 0 for _, f in way.products):
        return True
    total = total_of(terms, way if step > 0 else scaled(way, -1), factor)
    found = masked(terms, way if step > 0 else scaled(way, -1))
    return abs(step) == factor and total is not None and (found is None or found[1] % factor == 0)


def _hands_on_by_phis(loop: OneBlockLoop) -> bool:
    """Whether nothing behind the loop uses what it computes but φs where it is left to, which use none of its φs."""
    return all(
        user.block is loop.body or (user.is_phi and user.block is loop.exit and not i.is_phi)
        for i in loop.body.instructions
        for user in i.instruction_users()
    )


def _shorter(terms: Terms, loop: OneBlockLoop, factor: int) -> Shorter | None:
    """The loop of the first of so many parts of all that is no sum of what grows by the same."""
    lines = {phi: divided(step, factor) for phi, step in line_steps(loop, terms).items()}
    grown: set[Value] = set(lines)
    kinds: dict[Hashable, list[Instruction]] = {}
    for i in loop.body.non_phis():
        if i.is_terminator or _is_test(loop, i):
            continue
        inside = [v for v in i.operands if isinstance(v, Instruction) and v.block is loop.body]
        if i.op in _ARITHMETIC and inside and all(v in grown for v in inside):
            grown.add(i)
        else:
            kinds.setdefault(_kind(i), []).append(i)
    if not kinds or any(len(alike) % factor for alike in kinds.values()):
        return None
    same: dict[Value, Value] = {}
    # What a part hands on is a φ to the first one.
    for alike in kinds.values():
        part = len(alike) // factor
        same.update(zip(alike[-part:], alike[:part], strict=True))
    for phi in loop.phis:
        following = loop.following(phi)
        if phi not in lines and following not in same:
            # A number of two rounds ago, or more.
            places = [(a, at) for a in kinds.values() for at, i in enumerate(a) if i is following]
            later = [a[at + len(a) // factor] for a, at in places]
            phis = [p for p in loop.phis if loop.following(p) in later]
            if not phis:
                return None
            same[following] = phis[0]
    return Shorter(loop, factor, lines, same)


def _is_test(loop: OneBlockLoop, i: Instruction) -> bool:
    branch = loop.body.terminator
    return i is branch.operands[0] and len(list(i.instruction_users())) == 1


def _kind(i: Instruction) -> Hashable:
    """What instructions of different rounds have in common."""
    types = tuple(str(v.type) for v in i.operands)
    predicate = i.predicate if i.op in ("icmp", "fcmp") else None
    return i.op, str(i.type), types, i.callee_name, predicate


def _agree(plain: Terms, shorter: Shorter) -> bool:
    """Whether so many rounds of the shorter loop do what one round of the loop does."""
    function, atoms, loop = plain.function, plain.atoms, shorter.loop
    states = shorter.states
    first = [plain.atom(("state", k), phi) for k, phi in enumerate(states)]
    code = _code(shorter)

    def terms(given: Sequence[Sum], later: int) -> Terms:
        known: dict[Value, Sum] = dict(zip(states, given, strict=True))
        for phi, step in shorter.lines.items():
            known[phi] = plus(plain.of(loop.first(phi)), each_round(step, later))
        return Terms(function, atoms, known)

    current, memory, places = first, MEMORY, list[Place]()
    ends: list[Sum] = []
    behind = [(v, v_first) for v, v_first in shorter.same.items() if _is_used_behind(loop, v)]
    for later in range(shorter.factor):
        body = terms(current, later)
        body.memory = memory
        body.run(code, range(later, later + 1))
        current, memory = [body.of(shorter.after_one(phi)) for phi in states], body.memory
        ends = [body.of(v_first) for _, v_first in behind]
        places += body.places
    whole = terms(first, 0)
    whole.run(plain_code(loop.body), range(shorter.factor), {place.key for place in places})
    return (
        whole.memory == memory
        and all(whole.of(loop.following(p)).key == s.key for p, s in zip(states, current, strict=True))
        and all(whole.of(v).key == s.key for (v, _), s in zip(behind, ends, strict=True))
        and all(is_defined(function, atoms, place) for place in places)
        and all(has_base(function, atoms, place) for place in whole.places if place.extended)
    )


def _code(shorter: Shorter) -> list[Instruction]:
    """What one round does, in order: what the states behind it are made of, and what it writes."""
    body = shorter.loop.body
    wanted: set[Value] = {shorter.after_one(phi) for phi in shorter.states}
    wanted |= {v for of, v in shorter.same.items() if _is_used_behind(shorter.loop, of)}
    first = set(shorter.same.values())
    found: list[Instruction] = []
    for i in reversed(plain_code(body)):
        if i in wanted or (i in first and i.op in ("store", "atomicrmw")):
            wanted.update(i.operands)
            found.append(i)
    return found[::-1]


def _is_used_behind(loop: OneBlockLoop, value: Value) -> bool:
    return isinstance(value, Instruction) and any(
        user.block is loop.exit for user in value.instruction_users()
    )


class _Made:
    """The shorter loop, in the block of the other one."""

    def __init__(self, terms: Terms, shorter: Shorter, counter: Instruction, bound: Sum) -> None:
        self.shorter, self.counter, self.bound = shorter, counter, bound
        self.values: dict[tuple[int, int], Value] = {}
        for value, sum in terms.known.items():
            is_inside = isinstance(value, Instruction) and value.block is shorter.loop.body
            if isinstance(value.type, IntType) and not is_inside and (atom := _atom(sum)) is not None:
                self.values.setdefault((atom, sum.bits), value)

    def is_possible(self) -> bool:
        """Whether all that it takes can be computed before it."""
        loop, lines = self.shorter.loop, self.shorter.lines
        behind = [v for v in plain_code(loop.body) if _is_used_behind(loop, v)]
        followings = {loop.following(phi) for phi in lines}
        return (
            self.counter in lines
            and all(isinstance(phi.type, IntType) for phi in lines)
            and all(map(self._is_sum, (*lines.values(), self.bound)))
            and all(v in followings or v in self.shorter.same for v in behind)
        )

    def _is_sum(self, sum: Sum) -> bool:
        """Whether it is a sum of products of values of its type."""
        return all((atom, sum.bits) in self.values for product, _ in sum.products for atom in product)

    def _computed(self, builder: Builder, sum: Sum) -> Value:
        type = IntType(sum.bits)
        total: Value | None = None
        for product, factor in sum.products:
            value: Value = const_int(factor, type)
            for atom in product:
                by = self.values[atom, sum.bits]
                is_one = isinstance(value, ConstInt) and value.value == 1
                value = by if is_one else builder.binary("mul", by, value)
            total = value if total is None else builder.binary("add", total, value)
        return const_int(0, type) if total is None else total

    def build(self) -> None:
        """Let the block do one round instead of all."""
        shorter, loop = self.shorter, self.shorter.loop
        body = loop.body
        code, old = _code(shorter), plain_code(body)
        ahead = Builder(before=loop.preheader.terminator)
        bound = self._computed(ahead, self.bound)
        steps = {phi: self._computed(ahead, step) for phi, step in shorter.lines.items()}
        aligns = least_aligns([body])
        branch = body.terminator
        here = Builder(before=branch)
        values: dict[Value, Value] = {}
        for i in code:
            copy = values[i] = copied(i, here, values)
            if i in aligns:
                copy.attrs["align"] = aligns[i]
        here.loc = branch.loc
        following = {phi: here.binary("add", phi, step) for phi, step in steps.items()}
        is_left = branch.successors[0] is loop.exit
        branch.set_operand(0, here.icmp("eq" if is_left else "ne", following[self.counter], bound))
        ends = {of: values.get(first, first) for of, first in shorter.same.items()}
        ends |= {loop.following(phi): value for phi, value in following.items()}
        for phi in (*loop.exit.phis(), *loop.phis):
            at = phi.blocks.index(body)
            value = following.get(phi)
            phi.set_operand(at, ends.get(phi.operands[at], phi.operands[at]) if value is None else value)
        for i in reversed(old):
            i.erase()


def _atom(sum: Sum) -> int | None:
    """The atom that a sum is; None for others."""
    alone = len(sum.products) == 1 and sum.products[0][1] == 1 and len(sum.products[0][0]) == 1
    return sum.products[0][0][0] if alone else None
