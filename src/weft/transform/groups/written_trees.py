"""Trees in shared memory whose rounds another compiler has written out are loops again.

    if tx < 128: sums[tx] += sums[tx + 128]             s = 128
    barrier                                             while s > 0:
    if tx < 64: sums[tx] += sums[tx + 64]       ==>         if tx < s: sums[tx] += sums[tx + s]
    barrier                                                 barrier
    ...                                                     s >>= 1

nvcc does so with loops of known rounds, and programmers do. As a loop it is found by
`weft.transform.groups.shared_trees`, which runs it in one lane group without barriers.

Of rounds one behind the other each compares the number of the thread with half the distance of the one before; what
threads below it run is the same but for constants, which are the same multiple of the distance in each round, and what
is the same in all. Behind each round all threads meet. A loop is made where `shared_trees` takes it.

Precondition: a kernel whose ids are parameters (`weft.transform.groups.work_items`), in canonical form. Postcondition:
the same. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from weft.analysis.divergence import Divergence
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.clone import clone_function
from weft.ir.types import I64, IntType
from weft.transform.groups.shared_places import LONGEST, is_cast_of
from weft.transform.groups.shared_trees import shared_trees
from weft.transform.groups.work_items import WorkItems

FEWEST = 3
"""Rounds that are worth a loop."""

_BARRIER = "weft.barrier"


class _Round(Struct, frozen=True):
    """A round: the block that asks, what threads below the distance run, and the block where all meet."""

    head: BasicBlock
    work: BasicBlock
    after: BasicBlock
    distance: int


class _Tree(Struct, frozen=True):
    """Rounds one behind the other.

    Parameters
    ----------
    multiples
        By operand of an instruction of the first round's work: how many times the distance it is, and how much more.
    """

    rounds: list[_Round]
    multiples: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


def roll_trees(function: Function, analyze: Callable[[Function], Divergence]) -> list[BasicBlock]:
    """Make loops of such rounds; their headers. `analyze` analyzes a kernel for the threads of a work-group."""
    if not any(True for _ in _trees(function)):
        return []
    trial = clone_function(function, f"{function.name}.rolled")
    headers = _roll_all(trial)
    found = {tree.header for tree in shared_trees(trial, analyze(trial))}
    module = function.module
    assert module is not None
    del module.functions[trial.name]
    return _roll_all(function) if found.issuperset(headers) else []


def _roll_all(function: Function) -> list[BasicBlock]:
    headers = [_roll(function, tree) for tree in list(_trees(function))]
    remove_unreachable_blocks(function)
    remove_dead_instructions(function)
    return headers


def _trees(function: Function) -> Iterator[_Tree]:
    """The longest runs of rounds that are alike."""
    tid, taken = WorkItems.of(function).tid[0], set[BasicBlock]()
    for block in function.blocks:
        first = _round(block, tid)
        if first is None or block in taken or not 1 < first.distance <= LONGEST:
            continue
        tree = _longest(_rounds_from(first, tid))
        if len(tree.rounds) >= FEWEST:
            taken.update(round.head for round in tree.rounds)
            yield tree


def _rounds_from(first: _Round, tid: Value) -> list[_Round]:
    """Rounds at half the distance of the one before, between which there is nothing but a barrier."""
    rounds = [first]
    while (following := _round(rounds[-1].after, tid)) is not None:
        between = following.head.instructions[1:-1]
        if following.distance * 2 != rounds[-1].distance or not all(_asks(i, tid) for i in between):
            break
        rounds.append(following)
    return rounds


def _round(head: BasicBlock, tid: Value) -> _Round | None:
    """The round that a block begins."""
    branch = head.terminator
    if branch.op != "br" or len(branch.successors) != 2:
        return None
    test = branch.operands[0]
    if not isinstance(test, Instruction) or not _asks(test, tid):
        return None
    found = _distance(test)
    if found is None:
        return None
    distance, way = found
    work, after = branch.successors[way], branch.successors[1 - way]
    if work.predecessors != [head] or work.successors != [after] or set(after.predecessors) != {head, work}:
        return None
    if any(after.phis()) or not _is_barrier(after.instructions[0]):
        return None
    return _Round(head, work, after, distance)


def _asks(i: Instruction, tid: Value) -> bool:
    """Whether an instruction compares the number of the thread with a constant."""
    return i.op == "icmp" and is_cast_of(i.operands[0], tid) and isinstance(i.operands[1], ConstInt)


def _is_barrier(i: Instruction) -> bool:
    return i.op == "call" and i.callee_name == _BARRIER


def _distance(test: Instruction) -> tuple[int, int] | None:
    """Below which distance numbers of threads are, and on which way they go on then."""
    bound = test.operands[1]
    assert isinstance(bound, ConstInt)
    match test.predicate:
        case "ult" | "slt":
            return bound.signed, 0
        case "ugt" | "sgt":
            return bound.signed + 1, 1
        case "eq" if bound.value == 0:
            return 1, 0
        case "ne" if bound.value == 0:
            return 1, 1
        case _:
            return None


def _longest(rounds: list[_Round]) -> _Tree:
    """The first rounds whose work is the same but for multiples of the distance."""
    differing: dict[tuple[int, int], tuple[int, int]] = {}
    count = 1
    for round in rounds[1:]:
        found = _multiples(rounds[0], round)
        if found is None or (count > 1 and found != differing):
            break
        differing, count = found, count + 1
    return _Tree(rounds[:count], differing)


def _multiples(first: _Round, other: _Round) -> dict[tuple[int, int], tuple[int, int]] | None:
    """The operands in which two rounds differ, by how many times the distance, and what is added; None for others."""
    ours, theirs = first.work.instructions[:-1], other.work.instructions[:-1]
    if len(ours) != len(theirs):
        return None
    same: dict[Value, Value] = {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.is_phi or not _is_alike(a, b):
            return None
        same[a] = b
        for k, (x, y) in enumerate(zip(a.operands, b.operands, strict=True)):
            if same.get(x, x) is y or (isinstance(x, ConstInt) and x == y):
                continue
            if not (isinstance(x, ConstInt) and isinstance(y, ConstInt)) or x.type != y.type:
                return None
            by, rest = divmod(x.signed - y.signed, first.distance - other.distance)
            if rest or by <= 0 or not isinstance(x.type, IntType) or x.type.bits < 32:
                return None
            if a.op != "add" and not (a.op == "getelementptr" and k == 1 and len(a.operands) == 2):
                return None
            found[n, k] = by, x.signed - by * first.distance
    return found


def _is_alike(a: Instruction, b: Instruction) -> bool:
    """Whether two instructions do the same with their operands; the alignment of what they access may differ."""
    first, second = ({k: v for k, v in i.attrs.items() if k != "align"} for i in (a, b))
    alike = (a.op, a.type, a.flags, len(a.operands)) == (b.op, b.type, b.flags, len(b.operands))
    return alike and first == second


def _roll(function: Function, tree: _Tree) -> BasicBlock:
    rounds = tree.rounds
    first, last = rounds[0], rounds[-1]
    head, work, exit = first.head, first.work, last.after
    name = head.name or "tree"
    header, body, latch = (function.add_block(f"{name}.{n}", after=head) for n in ("tree", "round", "meet"))
    loc = head.terminator.loc
    test = head.terminator.operands[0]
    assert isinstance(test, Instruction)
    for round in rounds[1:]:
        for asking in round.head.instructions[1:-1]:
            # A last comparison with 0 is used again behind the tree.
            asking.detach()
            head.insert_before(head.terminator, asking)
    barrier = first.after.instructions[0]
    barrier.detach()
    latch.append(barrier)
    exit.instructions[0].erase()
    head.terminator.erase()
    Builder(head).br(header)

    b = Builder(header)
    b.loc = loc
    distance = b.phi(I64, "distance")
    b.cond_br(b.icmp("ult", distance, ConstInt(I64, last.distance)), exit, body)
    b.at_end(body)
    b.cond_br(b.icmp("ult", WorkItems.of(function).tid[0], distance), work, latch)
    _write_work(tree, distance)
    work.terminator.erase()
    Builder(work).br(latch)
    b.at_end(latch)
    half = b.binary("lshr", distance, ConstInt(I64, 1))
    b.br(header)
    distance.add_incoming(ConstInt(I64, first.distance), head)
    distance.add_incoming(half, latch)
    return header


def _write_work(tree: _Tree, distance: Value) -> None:
    """Have the first round's work be that at any distance."""
    rounds = tree.rounds
    instructions = list(rounds[0].work.instructions[:-1])
    for n, i in enumerate(instructions):
        aligned = [int(round.work.instructions[n].attrs.get("align") or 1) for round in rounds]
        if "align" in i.attrs:
            i.attrs["align"] = min(aligned)
    for (n, k), (by, more) in tree.multiples.items():
        i, type = instructions[n], instructions[n].operands[k].type
        b = Builder(before=i)
        b.loc = i.loc
        assert isinstance(type, IntType)
        number = distance if type == I64 else b.cast("trunc", distance, type)
        if by > 1:
            number = b.binary("mul", number, ConstInt(type, by), ("nuw", "nsw"))
        if more and i.op == "getelementptr":
            i.set_operand(0, b.gep(i.source_type, i.operands[0], (number,)))
            i.flags = ()
            number = const_int(more, type)
        elif more:
            number = b.binary("add", number, const_int(more, type))
        i.set_operand(k, number)
