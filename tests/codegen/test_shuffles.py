"""Shuffles and matches: which form each takes, and that it does what the interpreter does at every width."""

import re

import pytest

from codegen.kernels import agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, WIDTHS

PURE = "convergent nounwind willreturn memory(none)\n"
DECLARED = (
    f"declare i32 @weft.shfl.idx.i32(i32, i32) {PURE}declare i64 @weft.shfl.idx.i64(i64, i32) {PURE}"
    f"declare i64 @weft.match.any.i64(i64) {PURE}declare void @weft.warp.sync() convergent nounwind willreturn\n"
)
LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"
LANE = "  %lane = call i32 @weft.lane.id()\n"
SHUFFLE = "  %s = call i32 @weft.shfl.idx.i32(i32 %v, i32 {lane})\n"


def shuffled(lane: str, before: str = "") -> str:
    """A body that stores what a shuffle from a lane gives."""
    return LOAD + LANE + before + SHUFFLE.format(lane=lane) + stored("%s")


XOR = shuffled("%k", "  %k = xor i32 %lane, 1\n")
DOWN = shuffled("%k", "  %k = add i32 %lane, 3\n")
UP = shuffled("%k", "  %k = sub i32 %lane, 2\n")
CLAMPED = shuffled(
    "%k",
    "  %far = add i32 %lane, 3\n  %in.it = icmp slt i32 %far, 32\n  %k = select i1 %in.it, i32 %far, i32 %lane\n",
)
BY_VALUE = shuffled("%v")
WIDE = (
    LOAD + "  %w = zext i32 %v to i64\n  %h = shl i64 %w, 7\n"
    "  %s = call i64 @weft.shfl.idx.i64(i64 %h, i32 %v)\n  %t = lshr i64 %s, 3\n  %r = trunc i64 %t to i32\n"
    + stored("%r")
)
MATCH = (
    LOAD + "  %m = and i32 %v, 3\n  %w = sext i32 %m to i64\n  %s = call i64 @weft.match.any.i64(i64 %w)\n"
    "  %hi = lshr i64 %s, 32\n  %x = xor i64 %hi, %s\n  %r = trunc i64 %x to i32\n" + stored("%r")
)
SOME = "%b = and i64 %tid, 5\n  %c = icmp ne i64 %b, 1"

BODIES = {
    "exclusive or": XOR,
    "down": DOWN,
    "up": UP,
    "down, within a warp, as in PTX": CLAMPED,
    "one lane": shuffled("1"),
    "a uniform lane": shuffled("%u"),
    "a lane beyond the last": shuffled("64"),
    "lanes by value": BY_VALUE,
    "64 bits": WIDE,
    "match": MATCH,
    "match of a uniform value": LOAD + "  %w = sext i32 %u to i64\n  %s = call i64 @weft.match.any.i64(i64 %w)\n"
    "  %r = trunc i64 %s to i32\n" + stored("%r"),
    "a uniform value": LOAD + "  %s = call i32 @weft.shfl.idx.i32(i32 %u, i32 %v)\n" + stored("%s"),
}  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("masked", [False, True], ids=["all", "some"])
def test_lanes_read_each_other(name: str, masked: bool) -> None:
    body = guarded(BODIES[name], SOME) if masked else BODIES[name]
    seed = len(name) + masked
    agree(kernel_text(body, DECLARED), WIDTHS[seed % len(WIDTHS)], ISAS[seed % len(ISAS)])


def test_constant_moves_are_one_shuffle() -> None:
    for body, pattern in (
        (XOR, "1, i32 0, i32 3, i32 2"),
        (DOWN, "3, i32 4, i32 5, i32 6, i32 7, i32 5"),
        (UP, "0, i32 1, i32 0"),
    ):
        text = widened(kernel_text(body, DECLARED))
        assert re.search(rf"shufflevector <8 x i32> %v, .*<i32 {pattern}", text), text
        assert "weft.permute" not in text and "select" not in text


def test_moves_that_end_at_the_last_lane_are_one_shuffle() -> None:
    text = widened(kernel_text(CLAMPED, DECLARED))
    assert re.search(r"shufflevector <8 x i32> %v, .*<i32 3, i32 4, i32 5, i32 6, i32 7, i32 5", text), text
    assert "weft.permute" not in text


def test_a_masked_move_keeps_the_own_value_where_the_source_is_passive() -> None:
    text = widened(kernel_text(guarded(XOR, SOME), DECLARED))
    assert re.search(r"shufflevector <8 x i1> .*<i32 1, i32 0", text)
    assert re.search(r"select <8 x i1> %\d+, <8 x i32> %\d+, <8 x i32> %\d+", text)


def test_one_lane_read_by_all_is_an_element() -> None:
    text = widened(kernel_text(shuffled("%u"), DECLARED))
    assert re.search(r"and i32 %u, 7", text) and "extractelement <8 x i32>" in text
    assert "weft.permute" not in text


def test_lanes_known_at_run_time_only_are_permuted() -> None:
    assert "@weft.permute.v8i32(" in widened(kernel_text(BY_VALUE, DECLARED))


def test_matching_visits_each_distinct_value_once() -> None:
    text = widened(kernel_text(MATCH, DECLARED))
    assert len(re.findall(r"icmp eq <8 x i64>", text)) == 1 and "phi <8 x i64>" in text


def test_lanes_see_what_others_stored_before_a_warp_meets() -> None:
    body = (
        LOAD + LANE + "  %other = xor i64 %tid, 1\n"
        "  %mine = getelementptr i32, ptr %out, i64 %tid\n  %theirs = getelementptr i32, ptr %out, i64 %other\n"
        "  store i32 %v, ptr %mine\n  call void @weft.warp.sync()\n  %a = load i32, ptr %theirs\n"
        "  call void @weft.warp.sync()\n  %b = mul i32 %a, 3\n  store i32 %b, ptr %mine\n"
        "  call void @weft.warp.sync()\n  %c = load i32, ptr %theirs\n  call void @weft.warp.sync()\n"
        "  store i32 %c, ptr %mine"
    )
    agree(kernel_text(body, DECLARED), 8, None)


def test_a_masked_reduction_as_text(golden) -> None:
    steps = "".join(
        f"  %l{k} = xor i32 %lane, {k}\n  %s{k} = call i32 @weft.shfl.idx.i32(i32 %v{k}, i32 %l{k})\n"
        f"  %v{k // 2} = add i32 %v{k}, %s{k}\n"
        for k in (2, 1)
    )
    body = LOAD.replace("%v =", "%v2 =") + LANE + steps + stored("%v0")
    _, text = widened(kernel_text(guarded(body), DECLARED), 4).split("\n", 1)
    golden(text + "\n", "reduction.ll")
