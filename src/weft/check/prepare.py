"""A stage's program as the interpreter runs it: whole in itself, and silent."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from weft.check.vector_math import define_lane_by_lane
from weft.codegen.parallel_launch import SETTINGS
from weft.interp import Program
from weft.ir import Module
from weft.ir.constants import zero_of
from weft.ir.intrinsics import OBLIVIOUS_ATTRIBUTE
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
    def program(self) -> Program:
        """The module, read back from its text; it prints nothing."""
        return prepared(self.stage, self.facts.math)


def prepared(stage: Stage, math: Mapping[str, MathSymbol]) -> Program:
    """The module of a stage, read back from its text.

    Functions of vector math libraries call the C library's for each lane, nothing is printed, and there is no pool:
    parallel loops run on one thread.
    """
    module = read_module(stage.text)
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
