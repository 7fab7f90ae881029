"""The sparse analyses on every kernel of the repository: those of `examples/` and of the conformance tests."""

from __future__ import annotations

import functools
import itertools
import os

import pytest

from analysis.test_sparse_agreement import differences
from bench.kernels import all_kernels
from weft.analysis.divergence import analyze_divergence
from weft.analysis.gated.gated_ssa import GatedSSA
from weft.analysis.gated.sparse import SimpleDivergence, polynomial_divergence, simple_divergence
from weft.analysis.shapes import Product
from weft.ir import Function, Instruction
from weft.ir.types import VOID
from weft.report.kernels import kernel_program

pytestmark = pytest.mark.slow

EVERY = 1 if os.environ.get("WEFT_FUZZ") else 6
"""Of so many kernels one is looked at."""


@functools.cache
def kernels() -> list[tuple[str, Function]]:
    return [(s.name, f) for s in all_kernels(EVERY) for f in kernel_program(s.result).functions]


def comes_from_private_memory_or_activation(simple: SimpleDivergence, value: Instruction) -> bool:
    """Whether what the engine knows more of has a part in the value."""
    graph = simple.graph
    reached = [graph.number[value]]
    for number in reached:
        source = graph.variables[number]
        if isinstance(source, Instruction):
            name = source.callee_name or ""
            if source.op == "alloca" or name == "weft.mask" or name.startswith("weft.shfl."):
                return True
        reached += {*graph.inputs[number], *graph.deciders[number]}.difference(reached)
    return False


@pytest.mark.parametrize("scope", ["lanes", "group"])
def test_the_simple_analysis_agrees_with_the_engine(scope: str) -> None:
    compared = more = less = 0
    for name, function in kernels():
        count, by_engine, by_sparse = differences(function, scope)
        simple = simple_divergence(function, scope=scope)
        assert all(comes_from_private_memory_or_activation(simple, i) for i in by_engine), (name, by_engine)
        compared, more, less = compared + count, more + len(by_sparse), less + len(by_engine)
    print(f"{compared} values: uniform only for the sparse analysis {more}, only for the engine {less}")
    assert compared > 5_000 // EVERY and more + less < compared / 200


def test_affine_subsumes_simple_and_finds_what_the_product_finds() -> None:
    """Corollary 3.4; and with ranges, the polynomials and the product of lattices are nearly as precise."""
    values = only_product = only_polynomials = quadratic = 0
    for name, function in kernels():
        gated = GatedSSA(function)
        analyses = [simple_divergence(function, gated=gated)]
        analyses += [polynomial_divergence(function, degree, gated=gated) for degree in (1, 2)]
        for weaker, stronger in itertools.pairwise(analyses):
            for variable in gated.phis.keys() | set(gated.etas) | set(function.instructions()):
                assert weaker.is_divergent(variable) or not stronger.is_divergent(variable), (name, variable)
        ranged = polynomial_divergence(function, 2, gated=gated, with_ranges=True)
        product = analyze_divergence(function, domain=Product((16,)))
        for value in function.instructions():
            state = ranged.state(value)
            if value.type is VOID or state is None:
                continue
            shape = product.shape(value)
            values += 1
            only_product += shape.is_uniform and not state.is_uniform
            only_polynomials += state.is_uniform and not shape.is_uniform
            quadratic += not state.is_divergent and not state.is_affine
    print(f"{values} values: uniform only by product {only_product}, by polynomials {only_polynomials}")
    assert only_product < values / 100 and only_polynomials < values / 1000
    # Why the product of lattices has no degree two: no kernel has a value that needs it.
    assert quadratic == 0
