"""From P-LLVM functions to closures: slots for values, modes for steps, segments at barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.graph.block_index import block_index
from weft.graph.cfg import CFG
from weft.graph.loops import LoopForest, loop_forest
from weft.interp.code import BlockCode, Code, Environment, Mode, Phi, Step
from weft.interp.lanes import LaneValue
from weft.interp.semantics import SEMANTICS, TERMINATORS
from weft.interp.threads.active import ActiveSet
from weft.ir.block import BasicBlock
from weft.ir.constants import Constant, ConstExpr
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.layout import DataLayout
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.interp.program import Image, Program


class Decoder:
    """What the semantics of an instruction need while it is decoded: slots of values, and the program."""

    __slots__ = ("_slots", "constants", "layout", "program", "size")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.layout: DataLayout = program.layout
        self._slots: dict[Value, int] = {}
        self.constants: list[tuple[int, Constant]] = []
        self.size = 0

    def slot(self, value: Value) -> int:
        """The environment slot of a value."""
        found = self._slots.get(value)
        if found is None:
            found = self._slots[value] = self.size
            self.size += 1
            if isinstance(value, Constant):
                self.constants.append((found, value))
        return found


def decode_function(function: Function, program: Program) -> Code:
    """Decode a function definition."""
    decoder = Decoder(program)
    arguments = [decoder.slot(a) for a in function.args]
    numbers = {block: i for i, block in enumerate(function.blocks)}
    cfg = CFG([[numbers[s] for s in block.successors] for block in function.blocks])
    loops = loop_forest(cfg)
    index = block_index(cfg, loops=loops)
    exits = _exit_distance(cfg)
    segments = _segments(function)
    blocks = [BlockCode(block, i) for block, i in numbers.items()]
    latch_keys: set[tuple[int, int]] = set()
    for code in blocks:
        number = code.number
        if index.number[number] < 0:
            continue
        for successor in dict.fromkeys(cfg.succs[number]):
            key = (index.slot(number, successor), successor)
            code.edges[successor] = key
            if loops.is_back_edge(number, successor):
                latch_keys.add(key)
        code.is_header = loops.headed_by[number] is not None
        code.per_thread = _is_irreducible_at(loops, number)
        code.nearest_exit = min(code.edges, key=lambda s: (exits[s], index.number[s]), default=-1)
        _decode_block(code, decoder, numbers, segments)
    return Code(function, blocks, decoder.size, arguments, decoder.constants, frozenset(latch_keys))


def _exit_distance(cfg: CFG) -> list[float]:
    """Edges from each block to the nearest block without successors."""
    distance = [float("inf")] * len(cfg)
    level = [b for b in range(len(cfg)) if not cfg.succs[b]]
    steps = 0
    while level:
        for block in level:
            distance[block] = steps
        steps += 1
        level = list(dict.fromkeys(p for b in level for p in cfg.preds[b] if distance[p] == float("inf")))
    return distance


def _is_irreducible_at(loops: LoopForest, block: int) -> bool:
    loop = loops.innermost[block]
    return loop is not None and any(around.is_irreducible for around in loop.ancestors())


def is_barrier(instruction: Instruction) -> bool:
    """Whether the instruction is a call at which a work-group meets."""
    return kind_of(instruction.callee_name) is IntrinsicKind.BARRIER


def _segments(function: Function) -> dict[Instruction, int]:
    """The segment of each instruction; a barrier belongs to the one behind it."""
    segments: dict[Instruction, int] = {}
    for block in function.blocks:
        number = 0
        for instruction in block.instructions:
            if instruction.op == "call" and is_barrier(instruction):
                number += 1
            segments[instruction] = number
    return segments


def _is_local(instruction: Instruction, segments: dict[Instruction, int]) -> bool:
    """Whether only active instructions of the same segment of the same block use the value."""
    own = segments[instruction]
    for user in instruction.users:
        if user.is_block:
            return False
        assert isinstance(user, Instruction)
        if user.block is not instruction.block or segments[user] != own or user.op == "phi" or is_total(user):
            return False
    return True


def is_total(instruction: Instruction) -> bool:
    """Whether the instruction executes for all threads, or assigns all of them as ``weft.mask`` does."""
    return instruction.total or kind_of(instruction.callee_name) is IntrinsicKind.MASK


def _decode_block(
    code: BlockCode, decoder: Decoder, numbers: dict[BasicBlock, int], segments: dict[Instruction, int]
) -> None:
    block = code.block
    predicate = block.predicate
    if predicate is not None:
        code.predicate = decoder.slot(predicate)
    # Instructions up to the predicate's own definition run before the activation is known.
    pending_predicate = (
        isinstance(predicate, Instruction) and predicate.block is block and predicate.op != "phi"
    )
    current: list[Step] = []
    for instruction in block.instructions:
        if instruction.op == "phi":
            code.phis.append(_decode_phi(instruction, decoder, numbers, segments))
            code.needs_present |= instruction.shadow is not None
            continue
        if instruction.is_terminator:
            code.terminate = TERMINATORS[instruction.op](decoder, instruction, code, numbers)
            break
        step = _decode_step(instruction, decoder, segments)
        code.needs_present |= step.mode == Mode.TOTAL
        if pending_predicate:
            code.before_predicate.append(step)
            pending_predicate = instruction is not predicate
        elif instruction.op == "call" and is_barrier(instruction):
            code.segments.append(current)
            code.barriers.append(step)
            current = []
        else:
            current.append(step)
    code.segments.append(current)


def _decode_phi(
    phi: Instruction, decoder: Decoder, numbers: dict[BasicBlock, int], segments: dict[Instruction, int]
) -> Phi:
    sources = {numbers[b]: decoder.slot(v) for v, b in phi.incoming() if b in numbers}
    shadow = -1 if phi.shadow is None else decoder.slot(phi.shadow)
    mode = Mode.LOCAL if _is_local(phi, segments) else Mode.MERGE
    return Phi(decoder.slot(phi), sources, shadow, mode, phi)


def _decode_step(instruction: Instruction, decoder: Decoder, segments: dict[Instruction, int]) -> Step:
    compute = SEMANTICS[instruction.op](decoder, instruction)
    has_result = not instruction.type.is_void
    slot = decoder.slot(instruction) if has_result else -1
    guard = -1 if instruction.guard is None else decoder.slot(instruction.guard)
    if is_total(instruction):
        mode = Mode.TOTAL
    elif not has_result:
        mode = Mode.VOID
    else:
        mode = Mode.LOCAL if _is_local(instruction, segments) else Mode.MERGE
    return Step(compute, slot, mode, instruction, guard)


class _ConstantFrame:
    """Just enough of a frame to evaluate a constant expression: one lane, active."""

    __slots__ = ("active", "env")

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.active = ActiveSet(None, 1)


def evaluate_expression(expression: ConstExpr, image: Image) -> LaneValue:
    """The value of a constant expression, by the semantics of its opcode."""
    from weft.interp.numbers.constants import constant_value

    decoder = Decoder(image.program)
    compute = SEMANTICS[expression.op](decoder, expression)  # type: ignore[arg-type]
    env: Environment = [None] * decoder.size
    for slot, constant in decoder.constants:
        env[slot] = constant_value(constant, image.address, image.evaluate)
    value = compute(_ConstantFrame(env))
    assert value is not None
    return value
