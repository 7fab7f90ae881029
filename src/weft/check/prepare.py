"""A stage's program as the interpreter runs it: no more than what runs, whole in itself, and silent."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from msgspec.structs import replace

from weft.check.vector_math import define_lane_by_lane
from weft.codegen.parallel.parallel_launch import SETTINGS
from weft.interp import Program
from weft.ir import Module
from weft.ir.constants import zero_of
from weft.ir.intrinsics import OBLIVIOUS_ATTRIBUTE
from weft.ir.reachable import reachable_text
from weft.ir.reader import read_module
from weft.passes.stages import Stage
from weft.runtime.printing import PRINT_SYMBOL
from weft.target.vector_math import MathSymbol


class Facts(Protocol):
    """What running a stage needs to know beside its program."""

    @property
    def math(self) -> Mapping[str, MathSymbol]:
        """Vector math functions that the code calls, by symbol."""
        ...


FactsT = TypeVar("FactsT", bound=Facts)


class PreparedStage(Generic[FactsT]):
    """A stage, ready to run.

    Parameters
    ----------
    stage
        The program and how to run it.
    facts
        What running it needs to know beside.
    """

    def __init__(self, stage: Stage, facts: FactsT) -> None:
        self.stage = stage
        self.facts = facts

    @functools.cached_property
    def run_text(self) -> str:
        """What is read and run of the module."""
        return run_text(self.stage)

    @functools.cached_property
    def program(self) -> Program:
        """What runs of the module, read back from its text; it prints nothing."""
        return prepared(self.stage, self.facts.math, self.run_text)

    def repeats(self, other: PreparedStage[Any]) -> bool:
        """Whether the same program is run in the same way, and so does the same."""
        return same_run(self.stage, other.stage) and self.run_text == other.run_text


def run_text(stage: Stage) -> str:
    """The text of what a run of a stage reaches."""
    return reachable_text(stage.text, stage.roots)


def same_run(stage: Stage, other: Stage) -> bool:
    """Whether two programs, where they are the same, are run in the same way."""
    return replace(stage, name=other.name, text=other.text, changed=other.changed) == other


def prepared(stage: Stage, math: Mapping[str, MathSymbol], text: str) -> Program:
    """The module that a stage runs, read back from its text.

    Functions of vector math libraries call the C library's for each lane, nothing is printed, and there is no pool:
    parallel loops run on one thread.

    Parameters
    ----------
    text
        What `run_text` gives for it.
    """
    module = read_module(text)
    define_lane_by_lane(module, math)
    _erase_prints(module)
    settings = module.globals.get(SETTINGS)
    if settings is not None:
        settings.initializer = zero_of(settings.value_type)
    for name in stage.oblivious & module.functions.keys():
        function = module.functions[name]
        function.attributes = (*function.attributes, f'"{OBLIVIOUS_ATTRIBUTE}"')
    return Program(module)


def _erase_prints(module: Module) -> None:
    for function in module.functions.values():
        for block in function.blocks:
            for instruction in [i for i in block if i.callee_name == PRINT_SYMBOL]:
                instruction.erase()
