"""The programs and the comparison that the analyses are measured with."""

import itertools

import pytest

from bench import precision_lattices, precision_llvm
from bench.analysis_programs import program
from bench.kernels import CompiledSource
from conformance.suite import every_case
from weft.frontend.python.compile import compile_python
from weft.frontend.python.typeof import typeof
from weft.ir.verifier import verify


@pytest.mark.parametrize("size", [40, 500])
def test_programs_are_valid_and_of_about_the_size_asked_for(size) -> None:
    function = program(size)
    verify(function)
    assert sum(1 for _ in function.instructions()) == pytest.approx(size, rel=0.25)


def some_kernels() -> list[CompiledSource]:
    cases = itertools.islice(every_case().items(), 0, None, 40)
    return [
        CompiledSource(name, compile_python(case.kernel, tuple(typeof(a) for a in case.args())))
        for name, case in cases
    ]


def test_more_precise_lattices_prove_more() -> None:
    counts = precision_lattices.measure(some_kernels())
    basic, product = counts["basic"], counts["product"]
    assert basic.values.total() == product.values.total() > 100
    assert basic.values["varying"] > product.values["varying"]
    assert product.accesses["contiguous"] > 0 == basic.accesses["contiguous"]


def test_what_is_uniform_to_llvm_is_uniform_to_us() -> None:
    opt = precision_llvm.find_opt()
    if opt is None:
        pytest.skip("no opt with a uniformity printer")
    found = precision_llvm.compare(opt, some_kernels())
    assert found.kernels >= 8
    assert found.llvm > 0
    assert found.exceptions == []
