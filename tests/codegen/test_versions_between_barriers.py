"""Stretches between barriers have versions for lane groups that meet whole stretches, and for small butterflies."""

import os
import random

import numpy as np
import pytest

from codegen.group_differential import WIDTHS, Choice, check
from codegen.machine_code import ISAS
from pairs import pairs
from weft import cuda
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.transform.numbers.versioned_parts import Part, parts_of

PROGRAMS = 400 if os.environ.get("WEFT_FUZZ") else 4


def sort_stretches(values):
    shared = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    start = 2 * cuda.blockDim.x * cuda.blockIdx.x
    shared[t] = values[start + t]
    shared[t + cuda.blockDim.x] = values[start + t + cuda.blockDim.x]
    length = 2
    while length <= 2 * cuda.blockDim.x:
        distance = length // 2
        while distance > 0:
            cuda.syncthreads()
            low = 2 * t - (t & (distance - 1))
            high = low + distance
            if (shared[low] > shared[high]) == ((low & length) == 0):
                shared[low], shared[high] = shared[high], shared[low]
            distance //= 2
        length *= 2
    cuda.syncthreads()
    values[start + t] = shared[t]
    values[start + t + cuda.blockDim.x] = shared[t + cuda.blockDim.x]


def transform(values):
    shared = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    start = 2 * cuda.blockDim.x * cuda.blockIdx.x
    shared[t] = values[start + t]
    shared[t + cuda.blockDim.x] = values[start + t + cuda.blockDim.x]
    distance = 1
    while distance < 2 * cuda.blockDim.x:
        cuda.syncthreads()
        low = 2 * t - (t & (distance - 1))
        a, b = shared[low], shared[low + distance]
        shared[low] = a + b
        shared[low + distance] = a - b
        distance *= 2
    cuda.syncthreads()
    values[start + t] = shared[t]
    values[start + t + cuda.blockDim.x] = shared[t + cuda.blockDim.x]


def transformed(stretch: np.ndarray) -> np.ndarray:
    distance = 1
    while distance < stretch.size:
        pairs = stretch.reshape(-1, 2, distance)
        stretch = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
        distance *= 2
    return stretch


@cuda.jit
def sum_rows(starts, values, totals):
    """Each warp adds up a row."""
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < totals.size:
        total = 0
        for k in range(starts[row] + lane, starts[row + 1], 32):
            total += values[k]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if lane == 0:
            totals[row] = total


@cuda.jit
def sum_parts(starts, values, totals):
    """Each warp adds up a row, or what its work-group has of one, for itself: rows lie in two work-groups."""
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < starts.size - 1:
        total = 0
        for k in range(starts[row] + lane, starts[row + 1], 32):
            total += values[k]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if lane == 0:
            totals[cuda.blockIdx.x, cuda.threadIdx.x // 32] = total


def test_kernels_of_warps_have_versions_for_whole_stretches() -> None:
    """Where work-groups are no multiples of warps, each starts with lanes of two rows."""
    lengths = np.random.default_rng(5).integers(0, 99, 40)
    starts = np.append(0, np.cumsum(lengths))
    values = np.random.default_rng(6).integers(0, 99, starts[-1])
    totals = np.zeros(40, np.int64)
    sum_rows[5, 256](starts, values, totals)
    assert np.array_equal(totals, np.add.reduceat(np.append(values, 0), starts[:-1]) * (lengths > 0))
    (line,) = [
        x for f in sum_rows.report().functions for e in f.excerpts for x in e.lines if "values[k]" in x.text
    ]
    assert "neighbours" in line.memory
    plain = cuda.jit(sum_parts.py_func, without=("aligned-versions",))
    others, wanted = np.zeros((27, 2), np.int64), np.zeros((27, 2), np.int64)
    sum_parts[27, 48](starts, values, others)
    plain[27, 48](starts, values, wanted)
    assert np.array_equal(others, wanted)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("threads", "width", "kernel"),
    pairs([1, 2, 4, 8, 16, 32, 128], [None, 4, 16], [sort_stretches, transform]),
)
def test_butterflies_in_shared_memory_are_right(kernel, threads: int, width: int | None) -> None:
    one = np.sort if kernel is sort_stretches else transformed
    values = np.random.default_rng(threads).integers(-9, 10, 6 * threads).astype(np.float32)
    wanted = np.concatenate([one(stretch) for stretch in values.reshape(3, -1)])
    cuda.jit(kernel, width=width)[3, threads](values)
    np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("kernel", [sort_stretches, transform])
def test_no_lane_is_accessed_by_itself_in_a_version(kernel) -> None:
    compiled = cuda.jit(kernel)
    compiled[2, 128](np.zeros(512, np.float32))
    assert any("has a version" in remark.message for remark in compiled.remarks)
    (text,) = compiled.inspect_llvm().values()
    without = cuda.jit(kernel, without=("aligned-versions",))
    without[2, 128](np.zeros(512, np.float32))
    (before,) = without.inspect_llvm().values()
    assert text.count("shufflevector") > before.count("shufflevector")


GRAPH = """
define void @kernel(ptr %p, i32 %t, i32 %n, i1 %c) {{
entry:
  %first = load i32, ptr %p
  br label %head
head:
  %d = phi i32 [ %n, %entry ], [ %half, %latch ]
  %more = icmp ugt i32 %d, 0
  br i1 %more, label %{body}, label %out
body:
  call void @weft.barrier()
  br label %behind
behind:
  %x = load i32, ptr %p
  br i1 %c, label %swap, label %latch
swap:
  {swap}
  br label %latch
latch:
  %y = phi i32 [ %x, %behind ], [ 0, %swap ]{beside}
  store i32 %y, ptr %p
  %half = lshr i32 %d, 1
  br label %head
out:
  call void @weft.barrier()
  br label %end
end:
  %last = phi i32 [ %first, %out ]
  store i32 %last, ptr %p
  ret void
{more}}}
declare void @weft.barrier() convergent
"""

ASIDE = "choose:\n  br i1 %c, label %body, label %aside\naside:\n  br label %latch\n"


def graph(
    body: str = "body", swap: str = "store i32 1, ptr %p", beside: str = "", more: str = ""
) -> Function:
    return read_module(GRAPH.format(body=body, swap=swap, beside=beside, more=more)).functions["kernel"]


def names(part: Part) -> tuple[str | None, ...]:
    return part.head.name, *sorted(block.name or "" for block in part.blocks)


def test_parts_end_where_control_meets_again_behind_the_last_access() -> None:
    r"""Parts of a loop with a barrier.

    ::

        entry → head → body|behind → latch → head …; head → out|end
                               ↘ swap ↗
    """
    function = graph()
    parts = list(parts_of(function))
    assert [names(part) for part in parts] == [("entry",), ("behind", "latch", "swap"), ("end",)]
    assert parts[1].end is not None and parts[1].end.op == "lshr"
    joined = parts[1].close()
    assert joined is not None and [i.op for i in joined] == ["lshr", "br"]
    assert function.module is not None
    verify_structure(function.module)


@pytest.mark.parametrize(
    "function",
    [
        graph(swap="call void @weft.barrier()"),
        graph(body="choose", beside=", [ 1, %aside ]", more=ASIDE),
    ],
    ids=["a barrier in it", "another way to its end"],
)
def test_a_part_has_no_barrier_and_one_entry(function: Function) -> None:
    r"""Stretches that are cut where they would go on.

    ::

        head → choose → body|behind → latch → head …
                    ↘ aside ----------↗
    """
    found = [names(part) for part in parts_of(function)]
    assert ("behind",) in found
    assert not any("swap" in part for part in found)


HEAD = """define void @kernel(ptr %in, ptr %out, i32 %u) "weft.kernel" "weft.shared"="4096:64,4096:64" {
entry:
  %t64 = call i64 @weft.local.id(i32 0)
  %n64 = call i64 @weft.local.size(i32 0)
  %t = trunc i64 %t64 to i32
  %n = trunc i64 %n64 to i32
  %s0 = call ptr addrspace(3) @weft.shared(i32 0)
  %s1 = call ptr addrspace(3) @weft.shared(i32 1)
  %du = add i32 %u, 1
  br label %fill
fill:
  %j = phi i32 [ %t, %entry ], [ %j.next, %fill ]
  %j511 = and i32 %j, 511
  %from = getelementptr i32, ptr %in, i32 %j511
  %given = load i32, ptr %from
  %to0 = getelementptr i32, ptr addrspace(3) %s0, i32 %j
  store i32 %given, ptr addrspace(3) %to0
  %to1 = getelementptr i32, ptr addrspace(3) %s1, i32 %j
  store i32 %j, ptr addrspace(3) %to1
  %j.next = add nsw i32 %j, %n
  %j.more = icmp slt i32 %j.next, 1024
  br i1 %j.more, label %fill, label %head
head:
  %k = phi i32 [ 0, %fill ], [ %k.next, %latch ]
  %acc = phi i32 [ %t, %fill ], [ %acc.next, %latch ]
  %more = icmp slt i32 %k, 9
  br i1 %more, label %body, label %done
body:
  call void @weft.barrier()
"""
LATCH = """  br label %latch
latch:
  %k.next = add nsw i32 %k, 1
  br label %head
done:
  %six = mul i32 %t, 6
  %place = getelementptr i32, ptr %out, i32 %six
  store i32 %acc, ptr %place
  call void @weft.barrier()
  %two.t = shl i32 %t, 1
  %s.even = getelementptr i32, ptr addrspace(3) %s0, i32 %two.t
  %even = load i32, ptr addrspace(3) %s.even
  %place1 = getelementptr i32, ptr %place, i32 1
  store i32 %even, ptr %place1
  ret void
}
declare void @weft.barrier() convergent
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
"""


class Rounds:
    """Writes a kernel that does butterflies, and divides and masks thread numbers, round by round."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"rounds {seed}")
        self.lines: list[str] = []
        self.count = 0
        self.sum = "%acc"

    def text(self) -> str:
        distance = self.rng.choice(("shl i32 1, %k", "lshr i32 256, %k", "add i32 %k, %du", "mul i32 %du, 8"))
        self.lines.append(f"%d = {distance}")
        self.lines.append("%m = sub i32 %d, 1")
        power = distance.startswith(("shl", "lshr"))
        for _ in range(self.rng.randint(1, 3)):
            self.butterfly() if power and self.rng.random() < 0.6 else self.look_up()
        lines = "\n".join(self.lines)
        return f"{HEAD}{lines}\n%acc.next = add i32 {self.sum}, %k\n{LATCH}"

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def place(self, base: str, index: str) -> str:
        space = " addrspace(3)" if base.startswith("%s") else ""
        return f"ptr{space} {self.new(f'getelementptr i32, ptr{space} {base}, i32 {index}')}"

    def butterfly(self) -> None:
        """Each thread has the pairs of its own number alone: up to 512 threads."""
        masked = self.new("and i32 %t, %m")
        low = self.new(f"sub i32 {self.new('shl i32 %t, 1')}, {masked}")
        one = self.place("%s0", low)
        other = self.place("%s0", self.new(f"add i32 {low}, %d"))
        a, b = self.new(f"load i32, {one}"), self.new(f"load i32, {other}")
        if self.rng.random() < 0.5:
            self.count += 1
            then, meet = f"swap{self.count}", f"meet{self.count}"
            greater = self.new(f"icmp sgt i32 {a}, {b}")
            self.lines += [f"br i1 {greater}, label %{then}, label %{meet}", f"{then}:"]
            self.lines += [
                f"store i32 {b}, {one}",
                f"store i32 {a}, {other}",
                f"br label %{meet}",
                f"{meet}:",
            ]
        else:
            self.lines.append(f"store i32 {self.new(f'add i32 {a}, {b}')}, {one}")
            self.lines.append(f"store i32 {self.new(f'sub i32 {a}, {b}')}, {other}")
        if self.rng.random() < 0.5:
            self.sum = self.new(f"xor i32 {self.sum}, {a}")

    def look_up(self) -> None:
        op = self.rng.choice(("and", "urem", "udiv", "and"))
        number = self.rng.choice(("%t", self.new("shl i32 %t, 1"), self.new("add i32 %t, 16")))
        r = self.new(f"{op} i32 {number}, {'%m' if op == 'and' else '%d'}")
        index = self.rng.choice((r, self.new(f"sub i32 {number}, {r}"), self.new(f"add i32 {r}, %k")))
        base = self.rng.choice(("%s1", "%in"))
        value = self.new(f"load i32, {self.place(base, self.new(f'and i32 {index}, 511'))}")
        self.sum = self.new(f"add i32 {self.sum}, {self.new(f'xor i32 {value}, {r}')}")


def rounds_of(seed: int) -> Choice:
    rng = random.Random(seed)
    text = Rounds(seed).text()
    sizes = [(n, 1, 1) for n in (1, 3, 8, 16, 32, 40, 64, 100, 128, 256, 512)]
    return Choice(seed, rng.choice(WIDTHS), rng.choice(ISAS), tuple(rng.sample(sizes, 2)), text)


@pytest.mark.parametrize("part", range(4))
def test_random_rounds_agree_with_the_interpreter(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1" if part == 0 else "0")
    for seed in range(part, PROGRAMS, 4):
        choice = rounds_of(seed)
        wrong = check(choice)
        assert wrong is None, f"{wrong}\n{choice.text}"
