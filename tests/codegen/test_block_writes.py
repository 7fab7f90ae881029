"""memset, memcpy and memmove: small ones as accesses, those of all lanes once, others lane by lane."""

import itertools

import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.test_forms import lines

DECLARED = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
SET = "  call void @llvm.memset.p0.i64(ptr {0}, i8 {1}, i64 {2}, i1 false)\n"
COPY = "  call void @llvm.memcpy.p0.p0.i64(ptr align 4 {0}, ptr align 4 {1}, i64 {2}, i1 false)\n"
MOVE = "  call void @llvm.memmove.p0.p0.i64(ptr align 4 {0}, ptr align 4 {1}, i64 {2}, i1 false)\n"
OWN = (
    "  %i = getelementptr [3 x i32], ptr %in, i64 %tid\n  %o = getelementptr [3 x i32], ptr %out, i64 %tid\n"
    "  %p = getelementptr i8, ptr %o, i64 4\n"
)
ARRAYS = "  %s = alloca [4 x i32], align 4\n  %z = alloca [4 x i32], align 4\n"


def test_small_copies_of_structures_are_made_by_wide_accesses() -> None:
    text = widened(kernel_text(OWN + COPY.format("%o", "%i", 12), DECLARED), 16)
    assert "@llvm.memcpy" not in text and "gather" not in text
    assert len(lines(text, "store <16 x i32>")) == 3 and "shufflevector" not in text


def test_copies_between_stack_objects_keep_their_elements() -> None:
    body = (
        ARRAYS
        + SET.format("%s", 1, 16)
        + "  %k = and i32 %t32, 3\n  %e = getelementptr i32, ptr %s, i32 %k\n"
    )
    body += (
        "  store i32 %t32, ptr %e\n"
        + COPY.format("%z", "%s", 16)
        + "  %f = getelementptr i32, ptr %z, i32 %u\n"
    )
    text = widened(kernel_text(body + "  %r = load i32, ptr %f\n" + stored("%r"), DECLARED), 16)
    assert not lines(text, "memset|memcpy") and lines(text, "load <16 x i32>, ptr %f")


def test_blocks_of_all_lanes_are_written_once() -> None:
    text = widened(kernel_text(guarded(SET.format("%out", 7, "%n")), DECLARED), 16)
    assert (
        len(lines(text, r"call .*(memset|weft\.fill)")) == 1
        and lines(text, r"br i1 %\d+, label %block")
        and "cttz" not in text
    )


def test_blocks_of_each_lane_are_written_lane_by_lane() -> None:
    assert "cttz" in widened(kernel_text(OWN + SET.format("%o", 7, "%n"), DECLARED), 16)


KERNELS = {
    "set": OWN + SET.format("%o", 7, 12),
    "set by a varying byte": OWN + "  %b = trunc i64 %tid to i8\n" + SET.format("%o", "%b", 8),
    "odd size": OWN + SET.format("%o", 255, 11),
    "nothing": OWN + SET.format("%o", 255, 0),
    "copy": OWN + COPY.format("%o", "%i", 12),
    "overlapping move": OWN + COPY.format("%o", "%i", 12) + MOVE.format("%p", "%o", 8),
    "size at run time": OWN + "  %l = and i64 %n, 7\n" + SET.format("%o", 3, "%l"),
    "one block": SET.format("%out", 9, 64),
    "large block": SET.format("%out", 9, 1000),
}


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_kernel_agrees_with_the_interpreter(body: str) -> None:
    launches = (Launch(64, 37), Launch(45, 64), Launch(64, 0))
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        agree(kernel_text(guarded(body) if k % 2 else body, DECLARED), width, isa, launches)
