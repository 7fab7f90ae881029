"""Arguments that are made up for functions: they keep what parameters and loads promise."""

import numpy as np
import pytest

from weft.check.generate import NUMBERS, Arguments
from weft.check.inputs import Workspace
from weft.interp import run_function
from weft.ir.reader import read_module

RECORDS = """
define float @f(ptr readonly dereferenceable(16384) %p, i32 range(i32 2, 5) %n, ptr %flags, ptr %table, i64 %i) {
  %row = getelementptr { float, i32, i64 }, ptr %p, i64 %i
  %x = load float, ptr %row
  %place = getelementptr { float, i32, i64 }, ptr %p, i64 %i, i32 1
  %k = load i32, ptr %place
  %at = getelementptr float, ptr %table, i32 %k
  %y = load float, ptr %at
  %last = getelementptr i8, ptr %p, i64 16380
  %z = load i32, ptr %last
  %from = getelementptr i8, ptr %flags, i64 %i
  %flag = load i8, ptr %from, !range !0
  %true = trunc i8 %flag to i1
  %sum = fadd float %x, %y
  %result = select i1 %true, float %sum, float %x
  ret float %result
}
!0 = !{i8 0, i8 2}
"""


@pytest.fixture
def function():
    return read_module(RECORDS).functions["f"]


def test_arrays_have_the_numbers_that_are_read(function):
    for (_, arrays), numbers in zip(Arguments(function).attempts(), NUMBERS, strict=True):
        records, n, flags, table, _ = arrays
        names = {at: records.dtype.fields[name][0] for name, (_, at) in records.dtype.fields.items()}
        assert names == {0: np.dtype("f4"), 4: np.dtype("u4"), 12: np.dtype("u4")}
        assert records.itemsize == 16 and records.nbytes >= 16384
        assert records["byte4"].max() <= abs(numbers[0])
        assert 2 <= n[0] < 5 and flags.dtype == np.uint8 and set(flags.tolist()) <= {0, 1}
        assert table.dtype == np.float32


def test_what_is_read_only_cannot_be_written(function):
    inputs, _ = next(Arguments(function).attempts())
    assert [region.writable for region in inputs.regions] == [False, True, True]


def test_functions_of_records_have_a_defined_result(function):
    for inputs, _ in Arguments(function).attempts():
        workspace = Workspace(inputs)
        if int(inputs.slots[4]) < 1 << 63:
            assert run_function(function.module, "f", workspace.slots, 1, memory=workspace.memory).value
