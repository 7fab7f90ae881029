"""The control-flow graph of a body."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from weft.diag.errors import PtxError
from weft.graph.cfg import CFG
from weft.ptx.instructions import Effect, variant_of
from weft.ptx.syntax import BranchTargets, Function, Instruction, Label, Statement, Symbol

_LEAVES = Effect.BRANCH | Effect.ENDS


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: the statements from `first` up to, but without, `last` of the body."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Blocks of a body and how control goes among them.

    Attributes
    ----------
    function
        Whose they are.
    blocks
        In the order of the text; block 0 is the entry.
    cfg
        The graph; its labels are those of the text, or the number of the block. The successors of a guarded branch are
        its target and then the next block. A block ends behind each branch, and behind ``ret``, ``exit`` and ``trap``,
        of which those with a guard go on to the next block. Falling off the end of the body is a return.
    """

    function: Function
    blocks: tuple[Block, ...]
    cfg: CFG

    def statements(self, block: int) -> list[Statement]:
        """The statements of a block, labels and declarations among them."""
        where = self.blocks[block]
        return (self.function.body or [])[where.first : where.last]

    def instructions(self, block: int) -> list[Instruction]:
        """The instructions of a block."""
        return [statement for statement in self.statements(block) if isinstance(statement, Instruction)]


def flow_of(function: Function) -> Flow:
    """The control-flow graph of a function.

    Parameters
    ----------
    function
        It has a body, and labels that are unique: `weft.ptx.scopes` sees to that.

    Raises
    ------
    PtxError
        A label is missing or occurs twice, or the table does not have an instruction; without a position.
    """
    body = function.body or []
    lists = {
        statement.name: [name for part in statement.targets for name in part.names()]
        for statement in body
        if isinstance(statement, BranchTargets)
    }
    bounds = _bounds(body)
    blocks = tuple(Block(first, last) for first, last in itertools.pairwise(bounds))
    labels = _labels(body, blocks)
    succs = [
        _successors(body, block, number, len(blocks), labels, lists) for number, block in enumerate(blocks)
    ]
    names = [str(number) for number in range(len(blocks))]
    for label, number in reversed(labels.items()):
        names[number] = label
    return Flow(function, blocks, CFG(succs, names))


def _bounds(body: list[Statement]) -> list[int]:
    """Where blocks begin, and the end of the body. A label begins one, unless labels alone stand before it."""
    bounds = [0]
    fresh = True
    for number, statement in enumerate(body):
        if isinstance(statement, Label):
            if not fresh:
                bounds.append(number)
            fresh = True
        elif isinstance(statement, Instruction):
            fresh = False
            if variant_of(statement).effects & _LEAVES:
                bounds.append(number + 1)
                fresh = True
    if bounds[-1] != len(body) or len(bounds) == 1:
        bounds.append(len(body))
    return bounds


def _labels(body: list[Statement], blocks: tuple[Block, ...]) -> dict[str, int]:
    labels: dict[str, int] = {}
    for number, block in enumerate(blocks):
        for statement in body[block.first : block.last]:
            if isinstance(statement, Label):
                if statement.name in labels:
                    raise PtxError(f"the label '{statement.name}' occurs twice")
                labels[statement.name] = number
    return labels


def _successors(
    body: list[Statement],
    block: Block,
    number: int,
    count: int,
    labels: dict[str, int],
    lists: dict[str, list[str]],
) -> list[int]:
    following = [number + 1] if number + 1 < count else []
    last = body[block.last - 1] if block.last > block.first else None
    if not isinstance(last, Instruction):
        return following
    effects = variant_of(last).effects
    if not effects & _LEAVES:
        return following
    targets: list[str] = []
    if effects & Effect.BRANCH:
        target = last.operands[-1]
        assert isinstance(target, Symbol)
        targets = lists.get(target.name, [target.name]) if last.opcode == "brx" else [target.name]
    for name in targets:
        if name not in labels:
            raise PtxError(f"there is no label '{name}'")
    return [*(labels[name] for name in targets), *(following if last.guard is not None else ())]
