"""A strided value is kept as its value in lane 0, also where lane 0 is passive and its own operands would give another.

In each kernel the value is strided in the active lanes because something does not wrap there; in lane 0 it wraps.
"""

import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, stored
from codegen.machine_code import WIDTHS

FROM_FIVE = "%c = icmp uge i64 %tid, 5"
"""Lanes 0 to 4 of the first group are passive."""

SHIFTED = "  %a = sub nuw nsw i32 %t32, 5\n"
"""Zero in lane 5; wraps around, as an unsigned number, in lanes 0 to 4."""

DESCENDING = "%r64 = sub i64 63, %tid\n  %r = trunc i64 %r64 to i32\n  %c = icmp ule i32 %r, 20"
"""Only the last 21 threads are active."""

BODIES = {
    "zext of a difference": guarded(SHIFTED + "  %w = zext i32 %a to i64\n" + stored("%w", "i64"), FROM_FIVE),
    "address from a zext": guarded(
        SHIFTED + "  %w = zext i32 %a to i64\n  %p = getelementptr i32, ptr %in, i64 %w\n"
        "  %v = load i32, ptr %p\n" + stored("%v"),
        FROM_FIVE,
    ),
    "sext of a sum": guarded(
        "  %a = add nsw i32 %r, 2147483627\n  %w = sext i32 %a to i64\n" + stored("%w", "i64"), DESCENDING
    ),
    "sext of a multiple": guarded(
        "  %a = mul nsw i32 %r, 100000000\n  %w = sext i32 %a to i64\n" + stored("%w", "i64"), DESCENDING
    ),
    "zext nneg": guarded(
        "  %s = sub nsw i32 %t32, 5\n  %w = zext nneg i32 %s to i64\n  %p = getelementptr i32, ptr %in, i64 %w\n"
        "  %v = load i32, ptr %p\n" + stored("%v"),
        FROM_FIVE,
    ),
    "quotient of a difference": guarded(
        "  %m = mul nuw i32 %t32, 4\n  %a = sub nuw i32 %m, 20\n  %d = udiv i32 %a, 4\n" + stored("%d"),
        FROM_FIVE,
    ),
    "exact shift": guarded(
        "  %m = shl nuw i32 %t32, 2\n  %a = sub nuw i32 %m, 20\n  %d = lshr exact i32 %a, 2\n" + stored("%d"),
        FROM_FIVE,
    ),
    "signed quotient": guarded(
        "  %m = shl i64 %tid, 3\n  %a = add nsw i64 %m, -40\n  %d = sdiv i64 %a, 8\n" + stored("%d", "i64"),
        FROM_FIVE,
    ),
    "comparison that holds for active lanes": guarded(
        SHIFTED + "  %b = icmp ult i32 %a, 100\n  %z = zext i1 %b to i32\n" + stored("%z"), FROM_FIVE
    ),
    "signed comparison": guarded(
        "  %a = add nsw i32 %r, 2147483627\n  %b = icmp sgt i32 %a, 0\n  %z = select i1 %b, i32 7, i32 9\n"
        + stored("%z"),
        DESCENDING,
    ),
    "minimum": guarded(
        SHIFTED + "  %m = call i32 @llvm.umin.i32(i32 %a, i32 100)\n" + stored("%m"), FROM_FIVE
    ),
    "uniform remainder": guarded(
        "  %m = shl i32 %t32, 4\n  %a = sub nuw i32 %m, 80\n  %d = urem i32 %a, 16\n" + stored("%d"),
        FROM_FIVE,
    ),
    "disjoint or": guarded(
        "  %m = shl i32 %t32, 2\n  %a = sub nuw i32 %m, 20\n  %d = or disjoint i32 %a, 3\n"
        "  %w = zext i32 %d to i64\n" + stored("%w", "i64"),
        FROM_FIVE,
    ),
    "inbounds address": guarded(
        "  %k = sub nsw i64 %tid, 5\n  %p = getelementptr inbounds nuw i32, ptr %in, i64 %k\n"
        "  %v = load i32, ptr %p\n" + stored("%v"),
        FROM_FIVE,
    ),
    "loop that begins at a passive lane's value": guarded(
        SHIFTED + "  %w = zext i32 %a to i64\n  br label %head\nhead:\n"
        "  %k = phi i64 [ %w, %then ], [ %k1, %head ]\n  %i = phi i32 [ 0, %then ], [ %i1, %head ]\n"
        "  %p = getelementptr i32, ptr %in, i64 %k\n  %v = load i32, ptr %p\n"
        "  %k1 = add nuw nsw i64 %k, 1\n  %i1 = add i32 %i, 1\n  %m = icmp ult i32 %i1, %u\n"
        "  br i1 %m, label %head, label %done\ndone:\n" + stored("%v"),
        FROM_FIVE,
    ),
}
DECLARED = "declare i32 @llvm.umin.i32(i32, i32)\n"


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_active_lanes_get_their_values_where_lane_zero_is_passive(body: str) -> None:
    text = kernel_text(body, DECLARED)
    for width in WIDTHS[1::2]:
        agree(text, width, None, (Launch(), Launch(45)))
