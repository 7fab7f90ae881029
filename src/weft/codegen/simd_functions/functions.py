"""Vectorizing the functions that a region calls: one SIMD function for each signature, each made once.

A SIMD function is ordered when a call of it is widened, and gets its body later. So recursion is a call of one that is
ordered already, and a function that no vector code calls is never vectorized. The shape of its result is what the
divergence analysis says of the scalar function for these shapes of its parameters.

Called functions behave as Moll's rule for calls has it (ch. 4): the callee runs once for the active set, and not at
all when that is empty, which is the caller's business (`widen.simd_calls`).

Precondition: the scalar functions are canonical P-LLVM. Postcondition, once all that was ordered is finished: each
SIMD function is plain LLVM IR, and does for W lanes what the function does for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.divergence import analyze_divergence
from weft.analysis.divergence.operands import Operands
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.lane_passes import vectorize
from weft.codegen.lanes.lane_unit import LaneUnit, SimdForm
from weft.codegen.lanes.obstacles import clear_obstacles, why_not_vectorized
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.simd_functions.entry_guard import guard_by_mask
from weft.codegen.simd_functions.simd_signature import UNIFORM, VARYING, SimdSignature, fits
from weft.codegen.widen.calls import FindMath
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.simd_calls import SimdFunction
from weft.ir import Function, Module, Value
from weft.ir.clone import clone_function
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.switches import ALL_ON, Switches
from weft.transform.boscc.insertion import Boscc
from weft.transform.unify_returns import unify_returns

MAX_SIMD_FUNCTIONS = 8
"""SIMD functions of one function; calls with yet another signature share the one that serves all."""

MAX_STEPS = 2
"""Steps of one parameter, from lane to lane, that are told apart."""

SIMD_ATTRIBUTE = "weft.simd.of"
"""Function attribute of SIMD functions, by which several vectorizers of a module share them."""

_OWN_COPY = ("byval", "inalloca", "preallocated", "swifterror")
"""Attributes of parameters that are more than a value."""


class FunctionVectorizer(Struct):
    """The SIMD functions of a module's functions for lane groups of one width.

    Parameters
    ----------
    module
        Holds the scalar functions, in canonical form, and gets the SIMD functions.
    lanes
        The lane group.
    find_math
        Finds vector math functions for the bodies.
    isa
        What the code is for; it decides names and forms.
    boscc
        Where uniform branches go around what divergent ones guard; None for nowhere.
    runner
        Runs the passes.
    switches
        What is made use of.

    Attributes
    ----------
    summaries
        What became of each SIMD function, by its name.
    """

    module: Module
    lanes: LaneSpace
    find_math: FindMath
    isa: Isa
    boscc: Boscc | None = None
    runner: Runner = field(default_factory=Runner)
    switches: Switches = ALL_ON
    summaries: dict[str, VectorizationSummary] = field(default_factory=dict)
    _known: dict[tuple[Function, SimdSignature], SimdFunction] = field(default_factory=dict)
    _steps: dict[tuple[Function, int], set[int]] = field(default_factory=dict)
    _count: dict[Function, int] = field(default_factory=dict)
    _suitable: dict[Function, bool] = field(default_factory=dict)
    _ordered: list[tuple[Function, SimdFunction]] = field(default_factory=list)

    def simd_function(self, function: Function, signature: SimdSignature) -> SimdFunction | None:
        """The SIMD function for calls with this signature; None when the function cannot be vectorized.

        It may have a more general signature, which the call then has to serve.
        """
        if not self._is_suitable(function):
            return None
        signature = self._with_few_steps(function, signature)
        known = self._known.get((function, signature))
        if known is None:
            if self._count.get(function, 0) >= MAX_SIMD_FUNCTIONS - 1:
                signature = signature.general
                known = self._known.get((function, signature))
            if known is None:
                known = self._order(function, signature)
        return known

    def finish(self) -> None:
        """Give each SIMD function that is ordered its body, those included that these bodies order."""
        while self._ordered:
            function, simd = self._ordered.pop()
            self._define(function, simd)

    def unit(self, function: Function, shapes: Mapping[Value, Shape], form: SimdForm) -> LaneUnit:
        """A function to be vectorized with what this one knows; its calls are of these SIMD functions."""
        unit = self._unit(function, shapes, form)
        unit.finish = self.finish
        return unit

    def _unit(self, function: Function, shapes: Mapping[Value, Shape], form: SimdForm) -> LaneUnit:
        return LaneUnit(
            self.module, function, self.lanes, shapes, self.isa, self.find_math, self.simd_function, self.boscc, form,
            VectorizationSummary(self.lanes.width), self.switches,
        )  # fmt: skip

    def _with_few_steps(self, function: Function, signature: SimdSignature) -> SimdSignature:
        """The signature with a parameter varying that was met with several steps: a recursion may double it."""
        steps: list[int | None] = []
        for position, step in enumerate(signature.steps):
            if step is not None and step != UNIFORM:
                seen = self._steps.setdefault((function, position), set())
                if len(seen) < MAX_STEPS:
                    seen.add(step)
                step = step if step in seen else VARYING
            steps.append(step)
        return replace(signature, steps=tuple(steps))

    def _is_suitable(self, function: Function) -> bool:
        known = self._suitable.get(function)
        if known is None and function.blocks:
            unify_returns(function)
            clear_obstacles(function)
        if known is None:
            types = [*function.fn_type.params, function.fn_type.result]
            known = self._suitable[function] = (
                bool(function.blocks)
                and not function.fn_type.vararg
                and fits(types)
                and not any(a.startswith(_OWN_COPY) for p in function.args for a in p.attributes)
                and why_not_vectorized(function) is None
            )
        return known

    def _order(self, function: Function, signature: SimdSignature) -> SimdFunction:
        shapes = self._shapes(function, signature)
        uniform = False
        if not function.fn_type.result.is_void:
            found = analyze_divergence(
                function, domain=domain_named("product", self.lanes.extents), initial=shapes,
                width=self.lanes.width, partial_entry=signature.masked,
            )  # fmt: skip
            uniform = found.result.is_uniform
        type = signature.function_type(function.fn_type, uniform)
        mark = f'"{SIMD_ATTRIBUTE}"="{function.name}"'
        name = base = signature.name(function.name, self.isa)
        made = self.module.functions.get(name)
        number = 0
        while made is not None and (mark not in made.attributes or made.fn_type != type):
            number += 1
            name = f"{base}.{number}"
            made = self.module.functions.get(name)
        if made is None:
            names = (*(a.name for a in function.args), *(("mask",) if signature.masked else ()))
            made = self.module.add_function(Function(name, type, names))
            made.attributes = (mark,)
            self._ordered.append((function, SimdFunction(made, signature)))
        simd = self._known[function, signature] = SimdFunction(made, signature)
        self._count[function] = self._count.get(function, 0) + 1
        return simd

    def _shapes(self, function: Function, signature: SimdSignature) -> dict[Value, Shape]:
        domain = domain_named("product", self.lanes.extents)
        operands = Operands(domain, self.module.layout)
        shapes: dict[Value, Shape] = {}
        for argument, step in zip(function.args, signature.steps, strict=True):
            bits = operands.bits(argument.type)
            if step is None:
                shapes[argument] = domain.varying(bits)
            else:
                shapes[argument] = (
                    domain.uniform(bits) if step == UNIFORM else domain.strided(step, bits, exact=False)
                )
        return shapes

    def _define(self, function: Function, simd: SimdFunction) -> None:
        signature = simd.signature
        name = simd.function.name
        source = clone_function(function, f"{name}.lanes")
        for argument in source.args:
            # What a caller promises of its argument need not hold of lane 0, which may be passive.
            argument.attributes = ()
        shapes = self._shapes(source, signature)
        mask = guard_by_mask(source) if signature.masked else None
        if mask is not None:
            shapes[mask] = domain_named("product", self.lanes.extents).varying(1)
        form = SimdForm(name, simd.function, mask)
        unit = self._unit(source, shapes, form)
        vectorize(unit, self.runner)
        simd.function.attributes = (
            *simd.function.attributes,
            f'"{SIMD_ATTRIBUTE}"="{function.name}"',
        )
        simd.function.linkage.linkage = "internal"
        self.summaries[name] = unit.summary
