"""Two neighbours at an index of each lane's own are gathered at once."""

import itertools

import pytest

from codegen.kernels import agree, guarded, kernel_text, stored, vector_function, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.structures import member, mixed
from codegen.test_forms import lines
from weft.ir.reader import read_module
from weft.machine.targets import AVX512
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel
from weft.target.machine import TargetSpec

INDEX = (
    "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"
    "  %k32 = and i32 %v, 31\n  %k = zext nneg i32 %k32 to i64\n"
)


def at_own_index(fields: int, which: tuple[int, ...], between: str = "") -> str:
    """``%v0``, ``%v1``, ...: fields of ``in[k]``, with something between the loads."""
    loads = [
        member("%in", fields, f, f"i{n}", index="%k") + f"  %v{n} = load i32, ptr %i{n}\n"
        for n, f in enumerate(which)
    ]
    return INDEX + between.join(loads) + mixed(len(which)) + stored("%m")


def test_neighbours_are_one_gather_of_64_bits() -> None:
    text = widened(kernel_text(at_own_index(2, (0, 1))), 16)
    assert len(lines(text, "gather")) == 1 and lines(text, r"masked.gather.v16i64.v16p0\(<16 x ptr> align 4")
    assert lines(text, r"shufflevector <32 x i32> .*<i32 0, i32 2") and lines(
        text, r"shufflevector <32 x i32> .*<i32 1, i32 3"
    )


def test_order_of_the_loads_does_not_matter() -> None:
    text = widened(kernel_text(at_own_index(4, (2, 1))), 16)
    assert len(lines(text, "gather")) == 1 and lines(text, r"add <16 x i32> splat \(i32 1\)")


def test_loads_that_are_not_side_by_side_stay_apart() -> None:
    text = widened(kernel_text(at_own_index(4, (0, 2))), 16)
    assert len(lines(text, "masked.gather.v16i32")) == 2


def test_write_in_between_keeps_loads_apart() -> None:
    write = "  %w = getelementptr i32, ptr {}, i64 %n\n  store i32 5, ptr %w\n"
    assert len(lines(widened(kernel_text(at_own_index(2, (0, 1), write.format("%in"))), 8), "gather")) == 2
    assert len(lines(widened(kernel_text(at_own_index(2, (0, 1), write.format("%out"))), 8), "gather")) == 1


def test_a_row_of_neighbours_has_as_few_gathers_as_can_be() -> None:
    text = widened(kernel_text(at_own_index(4, (1, 2, 0, 3))), 16)
    assert len(lines(text, "gather")) == 2 and len(lines(text, "masked.gather.v16i64")) == 2


def test_arrays_that_the_launcher_keeps_apart_are_no_obstacle() -> None:
    write = "  %w = getelementptr i32, ptr %out, i64 %n\n  store i32 5, ptr %w\n"
    text = kernel_text(at_own_index(2, (0, 1), write)).replace("noalias ", "")
    for apart in (False, True):
        options = CompileOptions(width=16, arrays_apart=apart)
        lowered = lower_kernel(read_module(text), "kernel", options, TargetSpec.of_isa(AVX512))
        assert len(lines(vector_function(lowered), "gather")) == (1 if apart else 2)
        assert lowered.terms.arrays_apart == apart


KERNELS = {
    "two": at_own_index(2, (0, 1)),
    "two backwards": at_own_index(3, (2, 1)),
    "three": at_own_index(3, (0, 1, 2)),
    "four in any order": at_own_index(4, (3, 0, 2, 1)),
    "four from the middle": at_own_index(4, (1, 2, 0, 3)),
    "floats": at_own_index(2, (0, 1)).replace(
        "%v1 = load i32, ptr %i1", "%f = load float, ptr %i1\n  %v1 = bitcast float %f to i32"
    ),
}


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_kernel_agrees_with_the_interpreter(body: str) -> None:
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        agree(kernel_text(guarded(body) if k % 2 else body), width, isa)
