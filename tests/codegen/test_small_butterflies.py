"""Butterflies at distances below the lanes: a version for each, in which places are known and stores fill stretches."""

import random
import re

import numpy as np
import pytest

import weft
from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS
from codegen.test_forms import lines
from pairs import pairs
from weft import cuda
from weft.machine.host import chosen

LOWER = {
    "mask": "%m = sub i32 %u, 1\n  %k = and i32 %t32, %m\n  %two = shl i32 %t32, 1\n  %low = sub i32 %two, %k",
    "remainder": "%k = urem i32 %t32, %u\n  %two = shl i32 %t32, 1\n  %low = sub i32 %two, %k",
    "signed": "%k = srem i32 %t32, %u\n  %two = shl nsw i32 %t32, 1\n  %low = sub nsw i32 %two, %k",
    "quotient": "%q = udiv i32 %t32, %u\n  %r = mul i32 %q, %u\n  %low = add i32 %t32, %r",
    "quotient and remainder": (
        "%q = udiv i32 %t32, %u\n  %r = mul i32 %q, %u\n  %d = shl i32 %r, 1\n  %k = urem i32 %t32, %u\n"
        "  %low = add i32 %d, %k"
    ),
    "of int": (
        "%q = sdiv i32 %t32, %u\n  %r = mul nsw i32 %q, %u\n  %d = shl nsw i32 %r, 1\n  %k = srem i32 %t32, %u\n"
        "  %low = add nsw i32 %d, %k"
    ),
    "more bits than numbers have": (
        "%c = trunc nuw nsw i64 %tid to i32\n  %m = add i32 %u, 1023\n  %k = and i32 %c, %m\n"
        "  %two = shl i32 %c, 1\n  %low = sub i32 %two, %k"
    ),
    "harmless": (
        "%none = icmp eq i32 %u, 0\n  %d = select i1 %none, i32 1, i32 %u\n  %k = urem i32 %t32, %d\n"
        "  %two = shl i32 %t32, 1\n  %low = sub i32 %two, %k"
    ),
}
STAGE = """
  %high = add i32 %low, %u
  %wide = zext i32 %low to i64
  %wider = zext i32 %high to i64
  %p = getelementptr i32, ptr %in, i64 %wide
  %p2 = getelementptr i32, ptr %in, i64 %wider
  %x = load i32, ptr %p
  %y = load i32, ptr %p2
  %q1 = getelementptr i32, ptr %out, i64 %wide
  %q2 = getelementptr i32, ptr %out, i64 %wider
"""
ALWAYS = """
  %sum = add i32 %x, %y
  %difference = sub i32 %x, %y
  store i32 %sum, ptr %q1
  store i32 %difference, ptr %q2
"""
SWAPPED = """
  %more = icmp ugt i32 %x, %y
  br i1 %more, label %then, label %behind
then:
  store i32 %y, ptr %q1
  store i32 %x, ptr %q2
  br label %behind
behind:
"""
DISTANCES = [Launch(u=1 << k) for k in range(6)]


def stage(lower: str, stores: str) -> str:
    return kernel_text(f"  {LOWER[lower]}{STAGE}{stores}")


@pytest.mark.spread
@pytest.mark.parametrize("stores", [ALWAYS, SWAPPED], ids=["always", "swapped"])
@pytest.mark.parametrize("lower", LOWER)
def test_kernels_agree_with_the_interpreter(lower: str, stores: str) -> None:
    choice = list(LOWER).index(lower) + (stores is SWAPPED)
    width, isa = (8, 16, 4)[choice % 3], ISAS[choice % len(ISAS)]
    agree(stage(lower, stores), width, isa, [*DISTANCES, Launch(45, u=2), Launch(45, u=8)])


@pytest.mark.parametrize(
    ("isa", "stores", "lower"),
    pairs(ISAS, [ALWAYS, SWAPPED], [*LOWER][::3]),
)
def test_no_lane_is_accessed_by_itself(isa, stores: str, lower: str) -> None:
    text = widened(stage(lower, stores), 8, isa)
    for distance in (1, 2):
        version = text.split(f"\nnear.{distance}:")[1].split("\nnear.")[0]
        assert lines(version, r"= load <") and not lines(version, "gather|scatter| = load i32|store i32")


def test_the_version_is_for_what_is_asked() -> None:
    """By its logarithm the distance is a number of bits, of which 0 is one; by itself it is not."""
    text = """
  %low.bits = lshr i32 %t32, %u
  %d = shl i32 1, %u
  %m = sub i32 %d, 1
  %k = and i32 %t32, %m
  %two = shl i32 %t32, 1
  %low = sub i32 %two, %k
  %wide = zext i32 %low to i64
  %p = getelementptr i32, ptr %in, i64 %wide
  %x = load i32, ptr %p
  %q = getelementptr i32, ptr %out, i64 %wide
  store i32 %x, ptr %q
"""
    found = [int(n) for n in re.findall(r"^near\.(\d+):", widened(kernel_text(text), 8), re.M)]
    assert found == [0, 1, 2]
    # Where no lane is at an edge there is all of it again.
    at_edge = widened(stage("harmless", ALWAYS), 8).partition("\ninner:")[0]
    found = re.findall(r"^near\.(\d+):", at_edge, re.M)
    assert found == ["1", "2", "4"]


HALF = """
  %c = trunc nuw nsw i64 %tid to i32
  %d = lshr i32 %u, 1
  %m = sub i32 %d, 1
  %k = and i32 %c, %m
  %two = shl nuw nsw i32 %c, 1
  %low = sub nsw i32 %two, %k
  %high = add nsw i32 %low, %d
  %wide = sext i32 %low to i64
  %wider = sext i32 %high to i64
  %p = getelementptr i32, ptr %in, i64 %wide
  %p2 = getelementptr i32, ptr %in, i64 %wider
  %x = load i32, ptr %p
  %y = load i32, ptr %p2
  %q = getelementptr i32, ptr %out, i64 %wide
  %q2 = getelementptr i32, ptr %out, i64 %wider
  store i32 %y, ptr %q
  store i32 %x, ptr %q2
"""


def test_half_of_a_number_is_a_distance_where_it_is_a_power() -> None:
    """Of 2 and 3, whose halves are 1, the power is asked for; in its version the half is known to be 1."""
    text = widened(kernel_text(HALF), 8)
    assert re.findall(r"^near\.(\d+):", text, re.M) == ["2", "4", "8"]
    version = text.split("\nnear.2:")[1].split("\nnear.")[0]
    assert len(lines(version, "= load <")) == 2
    assert not lines(version, "gather|scatter| = load i32|store i32")
    agree(kernel_text(HALF), 8, ISAS[0], [Launch(u=u) for u in (2, 4, 8, 16, 32, 64)])


@pytest.mark.parametrize(
    "other",
    [
        "  %q = udiv i32 %t32, %u\n  %k = urem i32 %t32, %u\n  %r = mul i32 %q, 100\n  %low = add i32 %r, %k",
        "  %k = urem i32 %t32, %u\n  %low = add i32 %k, 3",
    ],
    ids=["rows and columns", "columns"],
)
def test_matrices_have_none(other: str) -> None:
    text = f"{other}\n  %p = getelementptr i32, ptr %in, i32 %low\n  %x = load i32, ptr %p\n"
    text += "  %q1 = getelementptr i32, ptr %out, i64 %tid\n  store i32 %x, ptr %q1\n"
    assert not lines(widened(kernel_text(text)), r"^near\.")


@pytest.mark.parametrize("seed", range(6))
def test_random_places_agree_with_the_interpreter(seed: int) -> None:
    """Sums of the masked number and others, which may wrap around, or leave the stretch in which nothing carries."""
    rng = random.Random(f"butterflies {seed}")
    few, factor = rng.choice((0, 1, 2, 3, 4, 8, 32, -1)), rng.choice((1, 2, 2, 3))
    body = f"""
  %m = sub i32 %u, 1
  %k = and i32 %t32, %m
  %s = mul i32 %t32, {factor}
  %a = {rng.choice(("add", "sub"))} i32 %s, %k
  %b = add i32 %a, {few}
  %c = and i32 %b, 255
  %wide = {rng.choice(("zext", "sext"))} i32 {rng.choice(("%b", "%c", "%c"))} to i64
  %p = getelementptr i32, ptr %in, i64 %wide
  %x = load i32, ptr %p
  %q = getelementptr i32, ptr %out, i64 %tid
  store i32 %x, ptr %q
"""
    if few < 0:
        body = body.replace(
            "%p = getelementptr i32, ptr %in",
            "%e = getelementptr i32, ptr %in, i64 1\n  %p = getelementptr i32, ptr %e",
        )
        body = body.replace("zext i32 %b", "sext i32 %b")
    width, isa = rng.choice((4, 8, 16)), rng.choice(ISAS)
    agree(kernel_text(body), width, isa, [Launch(u=1 << k) for k in range(6)])


@pytest.mark.parametrize("seed", range(12))
def test_signed_places_under_masks_agree_with_the_interpreter(seed: int) -> None:
    """Elements of both signs, which are the lanes' places from one that all share: nothing carries into the sign."""
    rng = random.Random(f"signed {seed}")
    behind = rng.choice((64, 64, 48, 32, 3))
    body = f"""
  %m = sub i32 %u, 1
  %k = and i32 %t32, %m
  %s = shl i32 %t32, 1
  %a = {rng.choice(("sub", "sub", "add"))} i32 %s, %k
  %low = sub i32 %a, {behind}
  %high = add i32 %low, {rng.choice(("%u", "%u", "1"))}
  %wide = sext i32 %low to i64
  %wider = sext i32 %high to i64
  %e = getelementptr i32, ptr %in, i64 64
  %p = getelementptr i32, ptr %e, i64 %wide
  %p2 = getelementptr i32, ptr %e, i64 %wider
  %x = load i32, ptr %p
  %y = load i32, ptr %p2
  %sum = sub i32 %x, %y
{stored("%sum")}
"""
    width, isa = rng.choice((4, 8, 16)), rng.choice(ISAS)
    launches = [Launch(u=1 << k) for k in range(6)]
    agree(kernel_text(guarded(body)), width, isa, [*launches, Launch(45, u=2), Launch(45, u=4)])


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_signed_places_fill_stretches_under_masks(isa) -> None:
    """Flags of sums do not hold in lanes that do not store: what is known of their low bits does."""
    swapped = SWAPPED.replace("%q1", "%q")
    text = HALF.replace("  store i32 %y, ptr %q\n  store i32 %x, ptr %q2\n", swapped)
    text = widened(kernel_text(text), 8, isa)
    version = text.split("\nnear.4:")[1].split("\nnear.")[0]
    assert not lines(version, "gather|scatter| = load i32|store i32")


def sort_stage(values, distance, length):
    t = cuda.grid(1)
    low = 2 * t - t % distance
    high = low + distance
    if high < values.size:
        a, b = values[low], values[high]
        if (a > b) == ((low & length) == 0):
            values[low], values[high] = b, a


def walsh(values, steps):
    for k in range(steps):
        distance = 1 << k
        for t in weft.prange(values.size // 2):
            low = 2 * t - (t & (distance - 1))
            a, b = values[low], values[low + distance]
            values[low] = a + b
            values[low + distance] = a - b


def test_programs_in_python_are_right() -> None:
    values = np.random.default_rng(1).permutation(256).astype(np.int32)
    kernel = cuda.jit(sort_stage)
    length = 2
    while length <= 256:
        distance = length // 2
        while distance:
            kernel[2, 64](values, distance, length)
            distance //= 2
        length *= 2
    assert (values == np.arange(256)).all()
    start = np.arange(64, dtype=np.float64) ** 2
    got = start.copy()
    weft.jit(parallel=True)(walsh)(got, 6)
    signs = np.array([[(-1) ** (i & j).bit_count() for j in range(64)] for i in range(64)])
    np.testing.assert_array_equal(got, signs @ start)


def walsh_by_quotients(values, distance):
    t = cuda.grid(1)
    low = t // distance * 2 * distance + t % distance
    if low + distance < values.size:
        a, b = values[low], values[low + distance]
        values[low] = a + b
        values[low + distance] = a - b


def test_quotients_and_remainders_of_python_are_shuffled_at_each_distance() -> None:
    """Numbers of both signs that are divided have choices, which are decided in the versions for distances."""
    kernel = cuda.jit(walsh_by_quotients, width=8)
    start = np.random.default_rng(2).integers(-50, 50, 128).astype(np.int32)
    for distance in (1, 2, 4, 8, 16, 3):
        got = start.copy()
        kernel[2, 32](got, distance)
        t = np.arange(64)
        low = t // distance * 2 * distance + t % distance
        low = low[low + distance < 128]
        wanted = start.copy()
        wanted[low] = start[low] + start[low + distance]
        wanted[low + distance] = start[low] - start[low + distance]
        np.testing.assert_array_equal(got, wanted)
    # Registers of four lanes gather what the two loads are for.
    shuffled = sum("shuffle" in r.message for r in kernel.remarks)
    assert shuffled == (2 if chosen().isa.vector_bits < 256 else 4)


SIGNED = """
  %d = sext i32 %u to i64
  %distance = sub i64 %d, {less}
  %m = add i64 %distance, -1
  %k = and i64 %tid, %m
  %two = shl nuw nsw i64 %tid, 1
  %low = sub nsw i64 %two, %k
  %high = add i64 %low, %distance
  %negative = icmp slt i64 %high, 0
  %count = select i1 %negative, i64 %n, i64 0
  %p0 = getelementptr i32, ptr %in, i64 %high
  %p = getelementptr i32, ptr %p0, i64 %count
  %y = load i32, ptr %p
  %p1 = getelementptr i32, ptr %in, i64 %low
  %x = load i32, ptr %p1
  %both = add i32 %x, %y
  %q = getelementptr i32, ptr %out, i64 %tid
  store i32 %both, ptr %q
"""
"""Both elements of a butterfly, the upper one by an index that counts from the end where it is negative."""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_an_index_that_may_count_from_the_end_is_asked_for_its_sign_with_the_distance(isa) -> None:
    text = kernel_text(SIGNED.format(less=0))
    code = widened(text, 8, isa)
    # The general version alone asks all lanes, and gathers both elements where they are no neighbours.
    assert re.search(r"^near\.4:", code, re.M)
    assert len(lines(code, "icmp slt <")) == 1
    assert len(lines(code, "gather")) <= 2
    agree(text, 8, isa, [Launch(u=1 << k) for k in range(6)])


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_distances_that_are_negative_run_the_general_code(isa) -> None:
    """Of u less than 8 distances are negative, and the upper element is before the lower one."""
    launches = [Launch(64, n=200, u=u) for u in (0, 1, 3, 7, 8, 9, 10, 12, 24, 40)]
    agree(kernel_text(SIGNED.format(less=8)), 8, isa, launches)


def test_stores_of_structures_stay_together() -> None:
    """Of three members, two do not fill a stretch without the third."""
    three = """
  %c = icmp ult i64 %tid, 20
  br i1 %c, label %then, label %behind
then:
  %i = mul i64 %tid, 4
  %p = getelementptr i32, ptr %out, i64 %i
  %p1 = getelementptr i32, ptr %p, i64 1
  %p2 = getelementptr i32, ptr %p, i64 2
  %e = getelementptr i32, ptr %in, i64 %i
  %x = load i32, ptr %e
  store i32 1, ptr %p
  store i32 %x, ptr %p1
  store i32 3, ptr %p2
  br label %behind
behind:
"""
    for isa in ISAS:
        agree(kernel_text(three), 8, isa, [Launch(), Launch(45)])
