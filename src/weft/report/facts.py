"""The facts of a report, read off a divergence analysis."""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.divergence import Divergence, Form
from weft.analysis.shapes import Shape
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Function, Instruction
from weft.report.model import (
    AccessForm,
    AccessReport,
    AllocaReport,
    BlockReport,
    BranchReport,
    ExitReport,
    LoopReport,
    ValueReport,
)
from weft.report.source_map import SourceMap, block_line, block_name

ACCESSES = {"load": "load", "store": "store", "atomicrmw": "atomic", "cmpxchg": "atomic"}
"""The instructions that are accesses, and what reports call them."""


def shape_class(shape: Shape) -> str:
    """The class of a shape; what is never reached is the same in all of its no lanes."""
    return "uniform" if shape.is_bottom else shape.class_name


def values(divergence: Divergence, source: SourceMap) -> tuple[ValueReport, ...]:
    """Every named value with its shape."""
    found: dict[ValueReport, None] = {}
    for named in source.named_values(divergence.function):
        shape = divergence.shape(named.value)
        found[ValueReport(named.name, named.line, str(shape), shape_class(shape))] = None
    return tuple(found)


def has_choice(block: BasicBlock) -> bool:
    """Whether a block has more than one successor."""
    return block.is_terminated and len(block.successors) > 1


def branches(divergence: Divergence, source: SourceMap) -> tuple[BranchReport, ...]:
    """Every branch with a choice."""
    return tuple(
        BranchReport(block_name(block), block_line(source, block), divergence.is_divergent_branch(block))
        for block in divergence.function.blocks
        if has_choice(block)
    )


def blocks(divergence: Divergence, source: SourceMap) -> tuple[BlockReport, ...]:
    """Every block, with where control goes on."""
    all_blocks = divergence.function.blocks
    position = {block: number for number, block in enumerate(all_blocks)}
    return tuple(
        BlockReport(
            block_name(block),
            block_line(source, block),
            tuple(position[to] for to in block.successors),
            has_choice(block) and divergence.is_divergent_branch(block),
            divergence.has_varying_control(block),
        )
        for block in all_blocks
    )


def loops_of(divergence: Divergence) -> tuple[Loop, ...]:
    """The loops of the function, outer ones first."""
    return divergence.engine.control.propagation.loops.loops


def loops(divergence: Divergence, source: SourceMap) -> tuple[LoopReport, ...]:
    """Every loop with its exits."""
    blocks = divergence.function.blocks
    return tuple(
        LoopReport(
            block_name(blocks[loop.header]),
            block_line(source, blocks[loop.header]),
            divergence.is_divergent_loop(blocks[loop.header]),
            tuple(_exits(divergence, loop)),
        )
        for loop in loops_of(divergence)
    )


def _exits(divergence: Divergence, loop: Loop) -> Iterator[ExitReport]:
    blocks = divergence.function.blocks
    divergent = {exit_block for _, exit_block in divergence.divergent_exits(blocks[loop.header])}
    for number in loop.exits:
        yield ExitReport(block_name(blocks[number]), blocks[number] in divergent)


def allocas(divergence: Divergence, source: SourceMap) -> tuple[AllocaReport, ...]:
    """Every stack object."""
    return tuple(
        AllocaReport(source.object_name(site), source.object_line(site), divergence.is_uniform_object(site))
        for site in divergence.stack_objects
    )


def access_instructions(function: Function) -> Iterator[Instruction]:
    """Loads, stores and atomics in the order of the program."""
    return (i for i in function.instructions() if i.op in ACCESSES)


def access_form(divergence: Divergence, access: Instruction) -> tuple[AccessForm, int | None]:
    """The form of an access, and its stride in bytes where that is one known number."""
    found = divergence.access_form(access)
    match found.form:
        case Form.UNIFORM:
            return AccessForm.UNIFORM, 0
        case Form.PRIVATE:
            return AccessForm.PRIVATE, None
        case Form.CONTIGUOUS:
            return AccessForm.CONTIGUOUS, found.stride
        case Form.STRIDED:
            return AccessForm.STRIDED, found.stride
    if divergence.engine.shape(access.pointer, access).is_affine:
        return AccessForm.STRIDED, None
    return (AccessForm.GATHER if access.op == "load" else AccessForm.SCATTER), None


def accesses(divergence: Divergence, source: SourceMap) -> tuple[AccessReport, ...]:
    """Every load, store and atomic."""
    found: list[AccessReport] = []
    for instruction in access_instructions(divergence.function):
        place = source.place(instruction)
        form, stride = access_form(divergence, instruction)
        line = None if place is None else place.line
        found.append(AccessReport(line, ACCESSES[instruction.op], form, stride))
    return tuple(found)
