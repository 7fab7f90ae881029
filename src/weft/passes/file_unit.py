"""A function of a file, on which chosen passes run one by one (``weft opt``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from weft.analysis.shapes import Shape, Signature, domain_named
from weft.codegen.lanes.lane_unit import LaneUnit, SimdForm
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.lanes import LaneSpace
from weft.ir import Function, Module, Value
from weft.ir.function import Linkage
from weft.ir.verifier import verify
from weft.options import Timings
from weft.passes.catalog import ON_LANES
from weft.passes.declared import Pass
from weft.passes.runner import Runner
from weft.report.arguments import initial_shapes
from weft.switches import ALL_ON, Switches
from weft.target.machine import TargetSpec
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.boscc.insertion import Boscc
from weft.transform.groups.work_items import WorkItems


class FileUnit(Struct):
    """What passes that are named one by one work on.

    Parameters
    ----------
    module, name
        The program, and the function at hand.
    spec
        What it is compiled for.
    width
        Lanes.
    signature
        Shapes of its parameters.
    boscc
        Where uniform branches go around what divergent ones guard.
    switches
        What is made use of.
    math
        Vector math functions the code calls, by symbol.
    linkage
        The linkage that the function had before a pass changed it.
    timings
        Seconds in each part of the compilation.
    """

    module: Module
    name: str
    spec: TargetSpec
    width: int
    signature: Signature
    boscc: Boscc
    switches: Switches = ALL_ON
    math: dict[str, MathSymbol] = field(default_factory=dict)
    linkage: Linkage | None = None
    timings: Timings = field(default_factory=Timings)

    @property
    def function(self) -> Function:
        """The function at hand."""
        return self.module.functions[self.name]

    @property
    def wanted(self) -> str:
        """The function that is not to be dropped."""
        return self.name

    def run(self, passes: Sequence[Pass[Any]], runner: Runner) -> None:
        """Run the passes, and verify what each leaves.

        Raises
        ------
        PassError
            A pass is not given what it requires.
        """
        part: LaneUnit | None = None
        called = self._vectorizer(runner)
        for each in passes:
            if each not in ON_LANES:
                part = None
                runner.run((each,), self)
            else:
                part = part or self._lane_unit(called)
                runner.run((each,), part)
                self.name = part.function.name
            verify(self.module)

    def _vectorizer(self, runner: Runner) -> FunctionVectorizer:
        find_math = math_finder(self.math, self.spec)
        lanes = LaneSpace((self.width,))
        return FunctionVectorizer(
            self.module, lanes, find_math, self.spec.isa, self.boscc, runner.watched_by(), self.switches
        )

    def _lane_unit(self, called: FunctionVectorizer) -> LaneUnit:
        called.module = self.module
        form = SimdForm(f"{self.name}.w{self.width}")
        unit = called.unit(self.function, self._shapes(), form)
        # What came before may have been the passes that rewrite control flow.
        unit.rewritten = True
        return unit

    def _shapes(self) -> dict[Value, Shape]:
        domain = domain_named("product", (self.width,))
        layout = self.module.layout
        shapes = initial_shapes(self.function, self.signature, domain, layout, {})
        items = WorkItems.find(self.function)
        if items is not None:
            shapes[items.tid[0]] = domain.strided(1, 64, self.width)
        return shapes
