"""Iterations that may run twice: what a parallel nest reads it does not write.

Of such a nest lane groups may overlap where its extents are no multiples of theirs: an iteration that runs again reads
what it has read, as no iteration writes that, and so writes what it has written. That arrays are apart is proved, or
tested before the nest with what else the sections of memory rest on (`weft.analysis.sequential.run_time_tests`).
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.alias import are_apart, locate
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.ir import BasicBlock, Function, Instruction, Module, Value
from weft.ir.effects import is_convergent, may_not_return, may_write


class Repeatable(Struct, frozen=True):
    """A loop whose iterations may run twice.

    Parameters
    ----------
    loop
        The loop.
    tests
        What has to hold before it.
    made
        The expressions of the tests.
    arrays
        Pointers to what it touches: under the tests each leads to memory that no other one does, if it is written.
    """

    loop: LoopContext
    tests: RunTimeTests
    made: Reconstruction
    arrays: frozenset[Value]

    @property
    def may_share_more(self) -> bool:
        """Whether a load behind a store may touch what has been written, but for the tests, and another load has it."""
        layout = self.loop.scope.program.module.layout
        for block in self.loop.blocks:
            before: list[Value] = []
            behind_store: list[Value] = []
            written: list[Value] = []
            for i in block.instructions:
                if not i.is_plain_access:
                    continue
                base = locate(i.pointer, layout).base
                if i.op == "store":
                    written.append(base)
                    behind_store = list(before)
                elif base in behind_store and not all(are_apart(base, other) for other in written):
                    return True
                else:
                    before.append(base)
        return False


def repeatable(
    module: Module, function: Function, header: BasicBlock, arrays: tuple[ArrayParameters, ...]
) -> Repeatable | None:
    """Under which tests iterations of a loop that is parallel may run twice; None where that is not known.

    Parameters
    ----------
    header
        The loop's.
    arrays
        Which parameters of the function are arrays with extents.
    """
    program = Program(module, arrays=arrays)
    scope = Scope(program, function)
    loop = next((each for each in scope.loops.values() if each.header is header), None)
    if loop is None or not all(_is_quiet(i) for block in loop.blocks for i in block.instructions):
        return None
    accesses = Accesses(Reconstruction(program))
    found = parameters_of(accesses, loop, frozenset())
    written = {section.base for section in found.outputs}
    if not found.is_complete or any(section.base in written for section in found.inputs):
        return None
    assumptions = {Assumption("overlap", "what is written is apart from what is read"): None}
    for access in accesses.of(loop):
        if isinstance(access, Access):
            assumptions |= dict.fromkeys(accesses.assumptions(access))
    tests = run_time_tests(accesses, loop, assumptions, found)
    if isinstance(tests, str):
        return None
    origins = [section.base.origin for section in (*found.inputs, *found.outputs)]
    touched = frozenset(origin for origin in origins if isinstance(origin, Value))
    return Repeatable(loop, tests, accesses.reconstruction, touched)


def _is_quiet(instruction: Instruction) -> bool:
    """Whether an instruction does nothing but to load or store, and to compute."""
    if instruction.is_plain_access:
        return True
    return not (may_write(instruction) or may_not_return(instruction) or is_convergent(instruction))
