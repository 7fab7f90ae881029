"""Which kernels cannot tell work-groups apart, and that they do the same when groups are merged."""

import numpy as np
import pytest

from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.groups.merge_groups import GroupMerge, merge_groups
from weft.transform.groups.work_items import lower_work_items

SIZE, GROUPS = 8, 3

DECLARATIONS = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.num.groups(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare void @weft.warp.sync() nounwind convergent
"""


def kernel(body: str, attributes: str = "") -> str:
    return f"""
define void @k(ptr %out, i64 %a) {attributes} {{
  %g = call i64 @weft.group.id(i32 0)
  %s = call i64 @weft.local.size(i32 0)
  %t = call i64 @weft.local.id(i32 0)
{body}
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  ret void
}}
{DECLARATIONS}
"""


SUM = "  %start = mul nuw nsw i64 %g, %s\n  %i = add nuw nsw i64 %start, %t\n"
AT_SUM = SUM + "  %at = getelementptr i32, ptr %out, i64 %i"

ANY_SIZE = {
    "sum": AT_SUM,
    "sum the other way round": AT_SUM.replace("%g, %s", "%s, %g").replace("%start, %t", "%t, %start"),
    "address in two steps": "  %start = mul i64 %g, %s\n  %row = getelementptr i32, ptr %out, i64 %start\n"
    "  %at = getelementptr i32, ptr %row, i64 %t",
    "multiple of the sum": SUM
    + "  %j = shl i64 %i, 1\n  %h = lshr i64 %j, 1\n  %at = getelementptr i32, ptr %out, i64 %h",
    "number in between": "  %start = mul nsw i64 %g, %s\n  %u = add nsw i64 %t, -1\n  %v = add nsw i64 %u, %start\n"
    "  %i = add nsw i64 %v, 1\n  %at = getelementptr i32, ptr %out, i64 %i",
    "difference": "  %start = mul nsw i64 %g, %s\n  %u = sub nsw i64 23, %t\n  %v = sub nsw i64 %u, %start\n"
    "  %at = getelementptr i32, ptr %out, i64 %v",
    "nothing": "  %at = getelementptr i32, ptr %out, i64 %a",
}
CONSTANT_SIZE = {
    "sum": AT_SUM.replace("%g, %s", f"%g, {SIZE}"),
    "shift": AT_SUM.replace("mul nuw nsw i64 %g, %s", "shl nuw nsw i64 %g, 3"),
    "address in bytes": f"  %start = mul i64 %g, {4 * SIZE}\n  %row = getelementptr i8, ptr %out, i64 %start\n"
    "  %at = getelementptr i32, ptr %row, i64 %t",
}
TOLD_APART = {
    "thread": "  %at = getelementptr i32, ptr %out, i64 %t",
    "group": "  %at = getelementptr i32, ptr %out, i64 %g",
    "start": "  %start = mul i64 %g, %s\n  %at = getelementptr i32, ptr %out, i64 %start",
    "two sizes": f"  %start = mul i64 %g, {SIZE}\n  %i = add i64 %start, %t\n  %other = mul i64 %g, 4\n"
    "  %j = add i64 %other, %t\n  %k = add i64 %i, %j\n  %at = getelementptr i32, ptr %out, i64 %k",
    "difference": "  %start = mul i64 %g, %s\n  %i = sub i64 %start, %t\n  %at = getelementptr i32, ptr %out, i64 %i",
    "comparison": SUM + "  %c = icmp eq i64 %t, 3\n  %j = select i1 %c, i64 0, i64 %i\n"
    "  %at = getelementptr i32, ptr %out, i64 %j",
    "large multiple": f"  %start = mul i64 %g, {SIZE << 40}\n  %u = mul i64 %t, {1 << 40}\n  %i = add i64 %start, %u\n"
    "  %at = getelementptr i32, ptr %out, i64 %i",
    "other elements": "  %start = mul i64 %g, %s\n  %row = getelementptr i16, ptr %out, i64 %start\n"
    "  %at = getelementptr i32, ptr %row, i64 %t",
    "number of 32 bits": "  %u = trunc i64 %t to i32\n  %v = zext i32 %u to i64\n  %start = mul i64 %g, %s\n"
    "  %i = add i64 %start, %v\n  %at = getelementptr i32, ptr %out, i64 %i",
    "warp": AT_SUM + "\n  call void @weft.warp.sync()",
}


def lowered(text: str):
    module = read_module(text)
    lower_work_items(module, module.functions["k"])
    return module


def result(module, thread, group) -> np.ndarray:
    memory = Memory()
    out = np.zeros(64, np.int32)
    address = memory.map_array(out, "out")
    for t, g in zip(thread, group, strict=True):
        run_function(
            module, "k", [address, 5, t, 0, 0, g, 0, 0, SIZE, 1, 1, GROUPS, 1, 1, 0, 0, 0], 1, memory=memory
        )
    return out


@pytest.mark.parametrize(
    "body", [*ANY_SIZE.values(), *CONSTANT_SIZE.values()], ids=[*ANY_SIZE, *CONSTANT_SIZE]
)
def test_threads_of_one_long_group_do_what_those_of_several_did(body: str) -> None:
    before, module = lowered(kernel(body)), lowered(kernel(body))
    merge = merge_groups(module.functions["k"], 0)
    verify(module)
    assert merge == GroupMerge(None if body in ANY_SIZE.values() else SIZE)
    threads = np.arange(SIZE * GROUPS)
    wanted = result(before, threads % SIZE, threads // SIZE)
    np.testing.assert_array_equal(result(module, threads, 0 * threads), wanted)
    if merge.size is not None:
        np.testing.assert_array_equal(result(module, threads % SIZE, threads // SIZE), wanted)


@pytest.mark.parametrize("body", TOLD_APART.values(), ids=TOLD_APART)
def test_kernels_that_tell_groups_apart_are_left_alone(body: str) -> None:
    module = lowered(kernel(body))
    assert merge_groups(module.functions["k"], 0) is None


def test_kernels_with_memory_of_their_group_are_left_alone() -> None:
    body = AT_SUM + "\n  %m = call ptr addrspace(3) @weft.shared(i32 0)\n  store i32 1, ptr addrspace(3) %m"
    module = lowered(kernel(body, '"weft.shared"="4:4"'))
    assert merge_groups(module.functions["k"], 0) is None
