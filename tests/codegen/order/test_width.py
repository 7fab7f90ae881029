"""The width that is chosen for a kernel, and what is said of it."""

import math
import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

import weft
from weft import cuda
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.loops.own_walks import scatters_by_loaded, scatters_in_own_rows
from weft.analysis.shapes import domain_named
from weft.codegen.order import width as width_module
from weft.codegen.order.width import MAX_WIDTH, choose_width, choose_width_of_rounds, open_choice
from weft.costs.constants import constants_of
from weft.costs.one_thread import may_be_alone
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE4, Isa
from weft.options import CompileOptions, Timings
from weft.passes.lower_kernel import kernel_llvm
from weft.target.machine import TargetSpec
from weft.target.passes import WHOLE

ISAS = (SSE4, AVX2, AVX512)


def chain(body: str, type: str = "float", carried: int = 1) -> str:
    """A kernel with a divergent loop that carries values of this type."""
    phis = "\n".join(
        f"  %v{i} = phi {type} [ %start{i}, %entry ], [ %next{i}, %head ]" for i in range(carried)
    )
    params = "".join(f", {type} %s{i}" for i in range(carried))
    starts = "\n".join(f"  %start{i} = fadd {type} %s{i}, %x" for i in range(carried))
    return f"""
define void @k(ptr %out, i64 %tid.x{params}) "weft.kernel" {{
entry:
  %x = uitofp i64 %tid.x to {type}
{starts}
  br label %head
head:
{phis}
{body}
  %c = fcmp olt {type} %next0, 4.0
  br i1 %c, label %head, label %done
done:
  %at = getelementptr {type}, ptr %out, i64 %tid.x
  store {type} %next0, ptr %at
  ret void
}}
"""


def analyzed(text: str) -> Divergence:
    kernel = read_module(text).functions["k"]
    domain = domain_named("product", (16,))
    return analyze_divergence(
        kernel, domain=domain, initial={kernel.args[1]: domain.strided(1, 64, 16)}, width=16
    )


def chosen(text: str, isa: Isa) -> int:
    choice = choose_width(analyzed(text), isa)
    assert choice.width <= MAX_WIDTH
    assert "register" in choice.reason
    return choice.width


LATENCY_BOUND = "  %a = fmul {0} %v0, %v0\n  %b = fadd {0} %a, %x\n  %next0 = fmul {0} %b, %b"
BUSY = "\n".join(
    f"  %p{i} = fmul float %v{i}, %x\n  %q{i} = fmul float %p{i}, %v{i}\n  %next{i} = fadd float %q{i}, %x"
    for i in range(12)
)
"""Enough for the machine to do at once: there is nothing to wait for, and spills are felt."""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_loop_bound_by_latency_runs_in_several_registers(isa: Isa) -> None:
    assert chosen(chain(LATENCY_BOUND.format("float")), isa) >= 2 * isa.lanes(32)


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_wider_elements_make_no_more_lanes_and_fill_more_registers(isa: Isa) -> None:
    narrow, wide = (chosen(chain(LATENCY_BOUND.format(t), t), isa) for t in ("float", "double"))
    assert wide <= narrow and wide * 64 >= narrow * 32


@pytest.mark.parametrize("isa", [SSE4, AVX2], ids=lambda isa: isa.name)
def test_values_that_do_not_fit_the_register_file_make_fewer_lanes(isa: Isa) -> None:
    assert chosen(chain(BUSY, carried=12), isa) == isa.lanes(32)


def without_loop(values: int) -> str:
    """A kernel that holds so many values at once, and has no loop."""
    loads = "\n".join(
        f"  %p{i} = getelementptr float, ptr %in{i}, i64 %tid.x\n  %v{i} = load float, ptr %p{i}"
        for i in range(values)
    )
    pairs = "\n".join(f"  %m{i} = fmul float %v{i}, %v{values - 1 - i}" for i in range(values // 2))
    sums = "\n".join(
        f"  %s{i} = fadd float {f'%s{i - 1}' if i > 1 else '%m0'}, %m{i}" for i in range(1, values // 2)
    )
    params = "".join(f", ptr %in{i}" for i in range(values))
    return f"""
define void @k(ptr %out, i64 %tid.x{params}) "weft.kernel" {{
entry:
{loads}
{pairs}
{sums}
  %at = getelementptr float, ptr %out, i64 %tid.x
  store float %s{values // 2 - 1}, ptr %at
  ret void
}}
"""


@pytest.mark.parametrize("isa", [SSE4, AVX2], ids=lambda isa: isa.name)
def test_values_outside_of_loops_that_do_not_fit_make_fewer_lanes(isa: Isa) -> None:
    assert chosen(without_loop(12), isa) == isa.lanes(32)
    assert chosen(without_loop(4), isa) > isa.lanes(32)


def test_where_there_are_registers_there_are_as_many_lanes() -> None:
    assert chosen(without_loop(6), AVX512) > chosen(without_loop(6), AVX2)


BYTES = """
define void @k(ptr %out, ptr %in, i64 %tid.x) "weft.kernel" {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %more, %next ]
  %at = add i64 %tid.x, %k
  %p = getelementptr i8, ptr %in, i64 %at
  %x = load i8, ptr %p
  %c = icmp ugt i8 %x, 3
  br i1 %c, label %next, label %done
next:
  %more = add i64 %k, 1
  br label %head
done:
  %q = getelementptr i8, ptr %out, i64 %tid.x
  store i8 %x, ptr %q
  ret void
}
"""


@pytest.mark.parametrize(
    ("isa", "most"), [(SSE4, 32), (AVX2, 64), (AVX512, 64)], ids=["sse", "avx2", "avx512"]
)
def test_masks_of_longer_values_have_no_more_lanes_than_a_register_has_bytes(isa: Isa, most: int) -> None:
    """More are packed at each branch; those of bytes are as long as these anyway."""
    assert chosen(BYTES, isa) == most
    short = (
        BYTES.replace("load i8", "load i16")
        .replace("i8 %x", "i16 %x")
        .replace("getelementptr i8", "getelementptr i16")
    )
    assert chosen(short, isa) <= isa.mask_lanes


COUNTED = """
define void @k(ptr %out, ptr %in, i64 %tid.x) "weft.kernel" {{
entry:
  %x = uitofp i64 %tid.x to double
  br label %head
head:
  %j = phi i64 [ 0, %entry ], [ %i, %head ]
  %v = phi double [ %x, %entry ], [ %next, %head ]
  {place}
  %l = load double, ptr %p
{body}
  %next = fadd double %q11, %l
  %i = add i64 %j, 1
  %c = icmp slt i64 %i, 100
  br i1 %c, label %head, label %done
done:
  %at = getelementptr double, ptr %out, i64 %tid.x
  store double %next, ptr %at
  ret void
}}
"""
ARITHMETIC = "\n".join(
    f"  %q{i} = fmul double {f'%q{i - 1}' if i else '%l'}, %x\n  %r{i} = fadd double %q{i}, %x"
    for i in range(12)
)


def test_more_than_four_registers_are_for_threads_that_look_up() -> None:
    """Where they only compute, so many values go to the stack."""

    def width(place: str) -> int:
        kernel = read_module(COUNTED.format(place=place, body=ARITHMETIC)).functions["k"]
        domain = domain_named("product", (16,))
        found = analyze_divergence(
            kernel, domain=domain, initial={kernel.args[2]: domain.strided(1, 64, 16)}, width=16
        )
        return choose_width(found, AVX2, in_lanes=True).width

    same = "%p = getelementptr double, ptr %in, i64 %j"
    own = "%b = fptosi double %v to i64\n  %p = getelementptr double, ptr %in, i64 %b"
    assert width(same) <= 16
    assert width(own) == 32


def iterate(out, start):
    i = cuda.grid(1)
    if i < out.shape[0]:
        z = start[i]
        n = 0
        while z < np.float32(4) and n < 100:
            z = z * z + start[i]
            n += 1
        out[i] = n


def in_group(out, start):
    out[cuda.grid(1)] = start[cuda.threadIdx.x]


def remarks(function: Callable[..., None], **options: int) -> str:
    types = (typeof(np.zeros(1, np.int32)), typeof(np.zeros(1, np.float32)))
    _, found = lower(function, types, CompileOptions(**options), Timings())
    return " ".join(r.message for r in found)


def test_the_reason_is_remarked() -> None:
    assert "registers of 32-bit values" in remarks(iterate)
    assert "runs 4 threads at a time, as asked for" in remarks(iterate, width=4)
    assert "a register of 32-bit values" in remarks(in_group)


def summed(out, start):
    s = cuda.shared.array(256, dtype=np.float32)
    t = cuda.threadIdx.x
    s[t] = start[t]
    cuda.syncthreads()
    total = np.float32(t)
    for _ in range(out.shape[0]):
        for k in range(256):
            total += s[k]
    out[t] = np.int32(total)


def placed(out, start):
    s = cuda.shared.array(256, dtype=np.int32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    for i in range(t, start.size, cuda.blockDim.x):
        s[np.int32(start[i])] = i
    cuda.syncthreads()
    out[t] = s[t]


def summed_in_planes(out, start):
    s = cuda.shared.array((16, 16), dtype=np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = start[x]
    cuda.syncthreads()
    total = np.float32(x)
    for _ in range(out.shape[0]):
        for k in range(16):
            total += s[0, k]
    out[x] = np.int32(total)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (summed, "2 registers of 32-bit values"),
        (placed, "a register of 32-bit values"),
    ],
)
def test_kernels_with_barriers_run_in_two_registers_where_that_pays(
    function: Callable[..., None], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    assert f"threads at a time, {reason};" in remarks(function)


def test_kernels_of_planes_run_no_more_than_short_rows() -> None:
    registers = 2 * TargetSpec.chosen().isa.vector_bits // 32
    assert f"runs {min(16, registers)} threads at a time" in remarks(summed_in_planes)


def found_with_barriers(out, start):
    s = cuda.shared.array(256, dtype=np.float32)
    t = cuda.threadIdx.x
    s[t] = start[t]
    cuda.syncthreads()
    low, high = 0, 256
    while low < high:
        middle = (low + high) // 2
        if s[middle] < start[255 - t]:
            low = middle + 1
        else:
            high = middle
    out[t] = low


def test_numbers_that_fit_have_32_bits_between_barriers_too() -> None:
    types = (typeof(np.zeros(1, np.int32)), typeof(np.zeros(1, np.float32)))
    lowered, _ = lower(found_with_barriers, types, CompileOptions(width=8), Timings())
    phis = [line for line in lowered.text.splitlines() if "= phi <8 x" in line]
    assert any("<8 x i32>" in line for line in phis)
    assert not any("<8 x i64>" in line for line in phis)


def test_what_is_short_between_barriers_is_done_for_more_threads_at_once() -> None:
    text = """
define void @k(ptr %out, i64 %tid.x) "weft.kernel" {
  %row = mul i64 %tid.x, 17
  %from = getelementptr float, ptr %out, i64 %row
  %x = load float, ptr %from
  %at = getelementptr float, ptr %out, i64 %tid.x
  store float %x, ptr %at
  ret void
}
"""
    divergence = analyzed(text)
    assert choose_width_of_rounds(divergence, AVX2, 0.0).width == 8
    assert choose_width_of_rounds(divergence, AVX2, 2.0).width == 16
    busy = analyzed(chain(BUSY, carried=12))
    assert choose_width_of_rounds(busy, AVX2, 0.0) == choose_width_of_rounds(busy, AVX2, 2.0)


ROWS = """
define void @k(ptr %out, ptr %in, ptr %starts, i64 %tid.x) "weft.kernel" {
entry:
  %at = getelementptr i32, ptr %starts, i64 %tid.x
  %next = getelementptr i32, ptr %at, i64 1
  %first = load i32, ptr %at
  %last = load i32, ptr %next
  br label %head
head:
  %k = phi i32 [ %first, %entry ], [ %more, %head ]
  %total = phi float [ 0.0, %entry ], [ %sum, %head ]
  %p = getelementptr float, ptr %in, i32 %k
  %v = load float, ptr %p
  %sum = fadd float %total, %v
  %more = add i32 %k, 1
  %c = icmp slt i32 %more, %last
  br i1 %c, label %head, label %done
done:
  %to = getelementptr float, ptr %out, i64 %tid.x
  store float %sum, ptr %to
  ret void
}
"""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_threads_that_load_how_long_they_go_on_run_thread_after_thread(isa: Isa) -> None:
    """Of as many lanes as a gather serves, all wait for the longest."""
    kernel = read_module(ROWS).functions["k"]
    domain = domain_named("product", (16,))
    initial = {kernel.args[3]: domain.strided(1, 64, 16)}
    choice = choose_width(analyze_divergence(kernel, domain=domain, initial=initial, width=16), isa)
    assert choice.width == 1
    assert re.fullmatch(r"which takes about \d+ % of the time of \d+ lanes", choice.reason)


EXTREMES = """
define void @k(ptr %out, ptr %in, ptr %starts, i64 %stride, i64 %tid.x) "weft.kernel" {{
entry:
  %at = getelementptr i64, ptr %starts, i64 %tid.x
  %loaded = load i64, ptr %at
  %regular = mul i64 %tid.x, %stride
  %row = getelementptr double, ptr %in, i64 %{start}
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %more, %head ]
  %mean = phi double [ 0.0, %entry ], [ %moved, %head ]
{load}
  %gap = fsub double %v, %mean
  %part = fmul double %gap, 0.125
  %moved = fadd double %mean, %part
  %more = add i64 %k, 1
  %c = icmp slt i64 %more, %stride
  br i1 %c, label %head, label %done
done:
  %to = getelementptr double, ptr %out, i64 %tid.x
  store double %moved, ptr %to
  ret void
}}
"""


NUMBERS = "  %p = getelementptr double, ptr %row, i64 %k\n  %v = load double, ptr %p"
OTHERS = (
    "  %twice = shl i64 %k, 1\n  %p = getelementptr double, ptr %row, i64 %twice\n  %v = load double, ptr %p"
)
OCTETS = "  %p = getelementptr i8, ptr %row, i64 %k\n  %b = load i8, ptr %p\n  %v = uitofp i8 %b to double"


@pytest.mark.parametrize(
    ("start", "load", "lanes"),
    [
        ("regular", OTHERS, 8),
        ("loaded", OTHERS, 64),
        ("regular", OCTETS, 64),
        ("regular", NUMBERS, 16),
        ("loaded", NUMBERS, 16),
    ],
    ids=["regular", "loaded", "bytes", "strips", "loaded strips"],
)
def test_rows_at_equal_distances_may_share_a_set_of_the_cache_and_others_do_not(
    start: str, load: str, lanes: int
) -> None:
    kernel = read_module(EXTREMES.format(start=start, load=load)).functions["k"]
    domain = domain_named("product", (16,))
    divergence = analyze_divergence(
        kernel, domain=domain, initial={kernel.args[4]: domain.strided(1, 64, 16)}, width=16
    )
    assert choose_width(divergence, AVX512, in_lanes=True).width == lanes


PLACED = """
define void @k(ptr %out, ptr %keys, ptr %places, i64 %length, i64 %tid.x) "weft.kernel" {
entry:
  %first = mul i64 %tid.x, %length
  %mine = mul i64 %tid.x, 256
  %own = getelementptr i32, ptr %places, i64 %mine
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %more, %head ]
  %at = add i64 %first, %k
  %p = getelementptr i32, ptr %keys, i64 %at
  %key = load i32, ptr %p
  %digit = and i32 %key, 255
  %wide = zext i32 %digit to i64
  %slot = getelementptr i32, ptr %own, i64 %wide
  %place = load i32, ptr %slot
  %next = add i32 %place, 1
  store i32 %next, ptr %slot
  %to = getelementptr i32, ptr %out, i32 %place
  store i32 %key, ptr %to
  %more = add i64 %k, 1
  %c = icmp slt i64 %more, %length
  br i1 %c, label %head, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_threads_that_store_where_they_have_loaded_may_be_faster_in_lanes(isa: Isa) -> None:
    """The keys of a radix sort took 1.5 to 1.9 times as long one after the other (Emerald Rapids)."""
    kernel = read_module(PLACED).functions["k"]
    domain = domain_named("product", (16,))
    divergence = analyze_divergence(
        kernel, domain=domain, initial={kernel.args[4]: domain.strided(1, 64, 16)}, width=16
    )
    choice = open_choice(divergence, isa)
    assert choice is not None and choice.alone_first


FOUND = """
define void @k(ptr %starts, ptr %neighbours, ptr %depths, i32 %depth, i64 %tid) {
entry:
  %p = getelementptr i32, ptr %starts, i64 %tid
  %begin = load i32, ptr %p
  %q = getelementptr i32, ptr %p, i64 1
  %end = load i32, ptr %q
  %c0 = icmp slt i32 %begin, %end
  br i1 %c0, label %head, label %done
head:
  %k = phi i32 [ %begin, %entry ], [ %k.next, %next ]
  %k64 = sext i32 %k to i64
  %at = getelementptr i32, ptr %neighbours, i64 %k64
  %other = load i32, ptr %at
  %other64 = sext i32 %other to i64
  %place = getelementptr i32, ptr %depths, i64 %other64
  %known = load i32, ptr %place
  %new = icmp slt i32 %known, 0
  br i1 %new, label %found, label %next
found:
  store i32 %VALUE, ptr %place
  br label %next
next:
  %k.next = add i32 %k, 1
  %c = icmp slt i32 %k.next, %end
  br i1 %c, label %head, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize("value", ["depth", "known"])
def test_threads_that_ask_before_they_store_may_be_faster_in_few_lanes(value: str) -> None:
    """Breadth-first search took 1.2 to 1.3 times as long alone, and 1.2 times in 64 lanes (Emerald Rapids)."""
    kernel = read_module(FOUND.replace("VALUE", value)).functions["k"]
    domain = domain_named("product", (16,))
    divergence = analyze_divergence(
        kernel, domain=domain, initial={kernel.args[4]: domain.strided(1, 64, 16)}, width=16
    )
    assert scatters_by_loaded(divergence) == (value == "depth")
    if value == "depth":
        assert open_choice(divergence, AVX512, in_loop=True) is not None
        assert choose_width(divergence, AVX512).width == 1


@cuda.jit
def search_level(starts, neighbours, depths, changed, depth):
    vertex = cuda.grid(1)
    if vertex < depths.size and depths[vertex] == depth:
        for k in range(starts[vertex], starts[vertex + 1]):
            other = neighbours[k]
            if depths[other] < 0:
                depths[other] = depth + 1
                changed[0] = 1


def search_levels(starts, neighbours, depths, changed, depth):
    for vertex in weft.prange(depths.size):
        if depths[vertex] == depth:
            for k in range(starts[vertex], starts[vertex + 1]):
                other = neighbours[k]
                if depths[other] < 0:
                    depths[other] = depth + 1
                    changed[0] = 1


def test_lanes_beside_threads_one_by_one_are_few_where_they_wait(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    ring = np.arange(1001, dtype=np.int32), np.roll(np.arange(1000, dtype=np.int32), -1)
    depths = np.where(np.arange(1000) < 100, 0, -1).astype(np.int32)
    kernel, loop = cuda.jit(search_level.py_func), weft.jit(search_levels)
    for function in (kernel[8, 128], loop):
        found, changed = depths.copy(), np.zeros(1, np.int32)
        function(*ring, found, changed, np.int32(0))
        assert np.flatnonzero(found == 1).tolist() == [100]
        assert changed[0] == 1
    for remarks in (kernel.remarks, loop.remarks):
        messages = [remark.message for remark in remarks]
        assert any("code for" in m and "one after the other, too" in m for m in messages)
        assert any("runs 16 " in m and "each waits for the others: with 64" in m for m in messages)


@cuda.jit
def factor_rows(matrices):
    n = cuda.grid(1)
    if n < matrices.shape[0]:
        for i in range(1, 12):
            factor = matrices[n, i, 0] / matrices[n, 0, 0]
            for j in range(i, 12):
                matrices[n, i, j] -= factor * matrices[n, 0, j]


@cuda.jit
def sums_of_rows(numbers, sums):
    n = cuda.grid(1)
    if n < sums.size:
        total = np.int32(0)
        for k in range(numbers.shape[1]):
            total += numbers[n, k]
        sums[n] = total


@cuda.jit
def counts_of_chunks(keys, counts):
    chunk = cuda.grid(1)
    if chunk < counts.shape[0]:
        for k in range(chunk * 2048, min((chunk + 1) * 2048, keys.size)):
            counts[chunk, keys[k] & np.uint32(63)] += 1


def lowered(kernel, isa: Isa, *arrays: np.ndarray):
    types = tuple(typeof(a) for a in arrays)
    return lower(kernel.py_func, types, CompileOptions(), Timings(), TargetSpec.of_isa(isa))[0]


@cuda.jit
def products_with_one_row(numbers, row, sums):
    n = cuda.grid(1)
    if n < sums.size:
        total = np.int32(0)
        for k in range(numbers.shape[1]):
            total += numbers[n, k] * row[k]
        sums[n] = total


@cuda.jit
def nearest_rows(numbers, rows, places):
    n = cuda.grid(1)
    if n < places.size:
        least, place = np.int32(2**31 - 1), 0
        for j in range(rows.shape[0]):
            total = np.int32(0)
            for k in range(numbers.shape[1]):
                total += abs(numbers[n, k] - rows[j, k])
            if total < least:
                least, place = total, j
        places[n] = place


@pytest.mark.optimized
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_row_that_all_threads_share_does_not_speak_for_lanes(isa: Isa) -> None:
    """But lanes whose rows a loop around comes back to have them in the nearest cache."""
    table, row, numbers = np.zeros((300, 120), np.int32), np.zeros(120, np.int32), np.zeros(300, np.int32)
    made = lowered(products_with_one_row, isa, table, row, numbers)
    assert any("inner loops run along rows" in r.message for r in made.remarks)
    assert re.search(r"add <(4|8|16) x i32>", kernel_llvm(made, TargetSpec.of_isa(isa)))
    made = lowered(nearest_rows, isa, table, table, numbers)
    assert not any("inner loops run along rows" in r.message for r in made.remarks)


@pytest.mark.parametrize("width", [None, 1, 8])
def test_products_with_a_shared_row_are_right(width: int | None) -> None:
    random = np.random.default_rng(5)
    table = random.integers(-100, 100, (300, 120)).astype(np.int32)
    row, sums = random.integers(-100, 100, 120).astype(np.int32), np.zeros(300, np.int32)
    cuda.jit(products_with_one_row.py_func, width=width)[3, 128](table, row, sums)
    assert (sums == table @ row).all()


@cuda.jit
def weights_of_rows(rows, weights):
    """Exponentials of a row, and then their shares of the sum, which is formed in order."""
    n = cuda.grid(1)
    if n < rows.shape[0]:
        total = np.float32(0)
        for k in range(rows.shape[1]):
            weight = math.exp(rows[n, k])
            weights[n, k] = weight
            total += weight
        for k in range(rows.shape[1]):
            weights[n, k] = weights[n, k] / total


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_rows_that_are_added_up_in_order_speak_for_lanes(isa: Isa) -> None:
    rows = np.zeros((300, 120), np.float32)
    made = lowered(weights_of_rows, isa, rows, rows)
    assert not any("inner loops run along rows" in r.message for r in made.remarks)


def test_shares_of_rows_are_right() -> None:
    rows = np.random.default_rng(5).random((300, 120)).astype(np.float32)
    weights = np.zeros_like(rows)
    weights_of_rows[3, 128](rows, weights)
    assert np.allclose(weights, np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.optimized
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_threads_that_walk_along_rows_leave_them_to_the_vectorizer_of_llvm(isa: Isa) -> None:
    made = lowered(factor_rows, isa, np.zeros((3, 12, 12), np.float32))
    assert made.summary is None and made.pipeline is WHOLE
    assert any("inner loops run along rows" in r.message for r in made.remarks)
    # The loop over threads is the one that is not for it.
    assert made.text.count('!"llvm.loop.vectorize.enable", i1 false') == 1
    made = lowered(sums_of_rows, isa, np.zeros((3, 12), np.int32), np.zeros(3, np.int32))
    assert made.summary is None and made.pipeline is WHOLE
    assert re.search(r"add <(4|8|16) x i32>", kernel_llvm(made, TargetSpec.of_isa(isa)))


@cuda.jit
def distances(texts, keys, least):
    """Find how far a text is from the nearest key, letters weighed by those before."""
    n = cuda.grid(1)
    if n < least.size:
        own = cuda.local.array(64, np.uint8)
        for k in range(64):
            own[k] = texts[n, k]
        nearest = 1 << 20
        for j in range(keys.shape[0]):
            run = total = 0
            for k in range(64):
                run = run + 1 if own[k] == keys[j, k] else 0
                total += run
            nearest = min(nearest, 2080 - total)
        least[n] = nearest


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_loop_beside_a_nest_that_copies_what_it_reads_does_not_decide(isa: Isa) -> None:
    letters = np.zeros((2, 64), np.uint8)
    made = lowered(distances, isa, letters, letters, np.zeros(2, np.int32))
    assert made.summary is not None and made.summary.width >= isa.lanes(32)


def alignments(first, second, scores):
    for pair in weft.prange(scores.size):
        above = np.zeros(65, np.int32)
        best = 0
        for row in range(64):
            letter = first[pair, row]
            diagonal = left = 0
            for column in range(64):
                reward = 3 if second[pair, column] == letter else -1
                left = max(0, diagonal + reward, above[column + 1] - 2, left - 2)
                diagonal = above[column + 1]
                above[column + 1] = left
                best = max(best, left)
        scores[pair] = best


def test_the_places_of_rows_that_are_copied_take_neither_time_nor_registers(monkeypatch) -> None:
    """The model counted them, and the beginning of a local array's life, against several registers."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    function = weft.jit(alignments)
    letters, scores = (
        np.random.default_rng(12).integers(0, 4, (2, 5, 64)).astype(np.uint8),
        np.zeros(5, np.int32),
    )
    function(letters[0], letters[1], scores)
    expected = np.zeros_like(scores)
    alignments(letters[0].astype(int), letters[1].astype(int), expected)
    np.testing.assert_array_equal(scores, expected)
    widths = [
        int(m[1]) for r in function.remarks if (m := re.search(r"runs (\d+) iterations at a", r.message))
    ]
    assert widths and min(widths) >= 32


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_lanes_whole_pages_apart_share_few_places_in_the_cache_and_can_run_by_themselves(isa: Isa) -> None:
    made = lowered(counts_of_chunks, isa, np.zeros(4096, np.uint32), np.zeros((2, 64), np.int32))
    # Without masks lanes come near to it where there are gathers, and launches try both.
    tried = any("launches try both" in r.message for r in made.remarks)
    assert made.summary is None or (isa.gather and tried)
    # What is looked up is not worth LLVM's lanes either.
    assert "llvm.loop.vectorize.enable" in made.text


def test_threads_that_run_by_themselves_are_right() -> None:
    matrices = np.random.default_rng(5).random((9, 12, 12)) + 12 * np.eye(12)
    wanted = matrices.copy()
    for i in range(1, 12):
        factor = wanted[:, i, 0] / wanted[:, 0, 0]
        wanted[:, i, i:] -= factor[:, None] * wanted[:, 0, i:]
    factor_rows[3, 4](matrices)
    assert np.allclose(matrices, wanted)
    keys = np.random.default_rng(7).integers(0, 1 << 32, 5000, np.uint32)
    counts = np.zeros((3, 64), np.int32)
    counts_of_chunks[1, 4](keys, counts)
    for chunk, own in enumerate(counts):
        assert (own == np.bincount(keys[2048 * chunk : 2048 * (chunk + 1)] & 63, minlength=64)).all()


# What stands on a stack of the thread's own, at heights that its steps decide:
#
#   entry --> head <--> push
#             ^  |
#             |  +---> pop --> done
#             +--------+
STACK = """
define void @k(ptr %in, ptr %out, i64 %n, i64 %tid.x) {
entry:
  %stack = alloca [32 x i32], align 4
  %at = getelementptr i32, ptr %in, i64 %tid.x
  %first = load i32, ptr %at
  br label %head
head:
  %top = phi i64 [ 0, %entry ], [ %higher, %push ], [ %lower, %pop ]
  %count = phi i32 [ 0, %entry ], [ %count, %push ], [ %more, %pop ]
  %value = phi i32 [ %first, %entry ], [ %half, %push ], [ %taken, %pop ]
  %odd = trunc i32 %value to i1
  br i1 %odd, label %pop, label %push
push:
  %half = ashr i32 %value, 1
  %there = getelementptr [32 x i32], ptr %stack, i64 0, i64 %top
  store i32 %half, ptr %there
  %higher = add nsw i64 %top, 1
  br label %head
pop:
  %lower = add nsw i64 %top, -1
  %from = getelementptr [32 x i32], ptr %stack, i64 0, i64 %lower
  %taken = load i32, ptr %from
  %more = add i32 %count, 1
  %empty = icmp slt i64 %lower, 1
  br i1 %empty, label %done, label %head
done:
  %to = getelementptr i32, ptr %out, i64 %tid.x
  store i32 %more, ptr %to
  ret void
}
"""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_stacks_of_threads_at_heights_of_their_own_leave_the_choice_open(isa: Isa) -> None:
    """Lanes gather from them and scatter to them, which threads by themselves need not."""
    kernel = read_module(STACK).functions["k"]
    domain = domain_named("product", (16,))
    initial = {kernel.args[3]: domain.strided(1, 64, 16)}
    divergence = analyze_divergence(kernel, domain=domain, initial=initial, width=16)
    assert may_be_alone(divergence)
    assert open_choice(divergence, isa) is not None or choose_width(divergence, isa).width == 1


@pytest.mark.parametrize("isa", [SSE4, AVX2], ids=lambda isa: isa.name)
def test_addresses_that_no_data_decide_keep_their_lanes(isa: Isa) -> None:
    """They may turn out to be neighbours when the code runs, as those of kernels of PTX do."""
    text = ROWS
    for loaded, computed in (
        ("load i32, ptr %at", "trunc i64 %tid.x to i32"),
        ("load i32, ptr %next", "mul i32 %first, %first"),
    ):
        assert loaded in text
        text = text.replace(loaded, computed)
    kernel = read_module(text).functions["k"]
    domain = domain_named("product", (16,))
    initial = {kernel.args[3]: domain.strided(1, 64, 16)}
    assert choose_width(analyze_divergence(kernel, domain=domain, initial=initial, width=16), isa).width > 1


def test_bytes_of_structures_are_looked_up_in_registers_though_half_as_many_lanes_gain_nothing(
    monkeypatch,
) -> None:
    """8 and 16 lanes gather; in 32 the table is in registers."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")

    @cuda.jit
    def mapped(pixels, tables, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i, 0] = tables[0, pixels[i, 0]]
            out[i, 1] = tables[1, pixels[i, 1]]
            out[i, 2] = tables[2, pixels[i, 2]]

    random = np.random.default_rng(5)
    pixels, tables = random.integers(0, 256, (77, 3), "u1"), random.integers(0, 256, (3, 256), "u1")
    out = np.zeros_like(pixels)
    mapped[2, 64](pixels, tables, out)
    assert np.array_equal(out, np.stack([tables[c, pixels[:, c]] for c in range(3)], 1))
    said = [r.message for r in mapped.remarks]
    assert any("runs 32 threads at a time" in m for m in said)
    assert any("looks bytes up in a table" in m for m in said)


SEARCHES = """
define void @k(ptr %in, ptr %out, i64 %n, i64 %tid.x) "weft.kernel" {
entry:
  %at = getelementptr i64, ptr %in, i64 %tid.x
  %v = load i64, ptr %at
  br label %head
head:
  %d = phi i64 [ 2, %entry ], [ %next, %latch ]
  %square = mul i64 %d, %d
  %small = icmp sle i64 %square, %v
  br i1 %small, label %latch, label %done
latch:
  %rest = urem i64 %v, %d
  %none = icmp eq i64 %rest, 0
  %next = add i64 %d, 1
  br i1 %none, label %done, label %head
done:
  %found = phi i64 [ 1, %head ], [ 0, %latch ]
  %to = getelementptr i64, ptr %out, i64 %tid.x
  store i64 %found, ptr %to
  ret void
}
"""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_search_that_looks_nothing_up_has_code_for_both(isa: Isa) -> None:
    """However dear lanes are by the model: `choose_width` has them."""
    kernel = read_module(SEARCHES).functions["k"]
    domain = domain_named("product", (16,))
    initial = {kernel.args[3]: domain.strided(1, 64, 16)}
    divergence = analyze_divergence(kernel, domain=domain, initial=initial, width=16)
    assert not may_be_alone(divergence) and choose_width(divergence, isa).width > 1
    assert open_choice(divergence, isa) is not None


def test_a_kernel_that_runs_thread_after_thread_says_so_and_is_right(monkeypatch) -> None:
    monkeypatch.setattr(width_module, "cycles_alone", lambda divergence, isa, latency=None: 0.0)

    @cuda.jit
    def row_sums(starts, values, out):
        i = cuda.grid(1)
        if i < out.size:
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += values[k]
            out[i] = total

    starts = np.array([0, 3, 3, 10, 11, 40], np.int32)
    values, out = np.arange(40.0), np.zeros(5)
    row_sums[2, 4](starts, values, out)
    assert out.tolist() == [values[a:b].sum() for a, b in pairwise(starts)]
    (told,) = [r.message for r in row_sums.remarks if "thread after thread" in r.message]
    assert "which takes about 0 % of the time of" in told
    assert "one at a time" in str(row_sums.report())


def test_a_loop_that_runs_iteration_after_iteration_says_so_and_is_right(monkeypatch) -> None:
    monkeypatch.setattr(width_module, "cycles_alone", lambda divergence, isa, latency=None: 0.0)

    @weft.jit
    def row_sums(starts, values, out):
        for i in weft.prange(out.size):
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += values[k]
            out[i] = total

    starts = np.array([0, 3, 3, 10, 11, 40], np.int32)
    values, out = np.arange(40.0), np.zeros(5)
    row_sums(starts, values, out)
    assert out.tolist() == [values[a:b].sum() for a, b in pairwise(starts)]
    assert any("iteration after iteration" in r.message for r in row_sums.remarks)


def test_where_two_registers_hide_the_chain_the_last_thread_of_four_is_waited_for(monkeypatch) -> None:
    steps = "\n".join(
        f"  %a{i} = fadd float %v0, {i}.5\n  %b{i} = fmul float %a{i}, %a{i}\n  store float %b{i}, ptr %at{i}"
        for i in range(6)
    )
    starts = "\n".join(f"  %at{i} = getelementptr float, ptr %out, i64 %tid.x" for i in range(6))
    short = chain(f"{starts}\n{steps}\n  %next0 = fadd float %v0, 0.125")
    links = "\n".join(f"  %l{i + 1} = fadd float %l{i}, 0.125" for i in range(20))
    long = chain(
        f"{starts}\n{steps}\n  %l0 = fadd float %v0, 0.125\n{links}\n  %next0 = fadd float %l20, 0.125"
    )

    def grows(text: str) -> bool:
        found = analyzed(text)
        wide, narrow = (width_module.WidthModel(found, AVX2).cycles_of_thread(w) for w in (32, 16))
        without = replace(constants_of(AVX2), longest=1.0)
        with monkeypatch.context() as patch:
            patch.setattr("weft.costs.lane_groups.constants_of", lambda isa: without)
            plain, same = (width_module.WidthModel(found, AVX2).cycles_of_thread(w) for w in (32, 16))
        assert narrow == same
        return wide > plain

    assert grows(short)
    assert not grows(long)


@pytest.mark.parametrize(("op", "width"), [("udiv", 8), ("add", 16)])
def test_lane_groups_that_may_lie_in_one_stretch_are_wider_only_if_that_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch, op: str, width: int
) -> None:
    """Fewer divisors are multiples of so many lanes; in 16 a thread takes 0.9 of what it takes in 8."""
    monkeypatch.setattr(width_module, "STRETCHES", 0.8)
    steps = "\n".join(
        f"  %a{i} = fmul float %v{i}, %x\n  %b{i} = fadd float %a{i}, %s{i}\n  %next{i} = fmul float %b{i}, %b{i}"
        for i in range(5)
    )
    text = chain(steps, carried=5).replace("i64 %tid.x,", "i64 %tid.x, i64 %m,")
    place = (
        f"%q = {op} i64 %tid.x, %m\n  %g = getelementptr float, ptr %out, i64 %q\n  %l = load float, ptr %g"
    )
    text = text.replace("%x = uitofp i64 %tid.x to float", f"{place}\n  %x = fadd float %l, 1.0")
    assert chosen(text, AVX2) == width


def box_means(picture, radius, means):
    x, y = cuda.grid(2)
    if radius <= y < picture.shape[0] - radius and radius <= x < picture.shape[1] - radius:
        total = np.int32(0)
        for dy in range(-radius, radius + 1):
            for dx in range(-radius, radius + 1):
                total += np.int32(picture[y + dy, x + dx])
        means[y, x] = total // ((2 * radius + 1) * (2 * radius + 1))


def box_means_of_rows(picture, radius, means):
    for y in weft.prange(radius, picture.shape[0] - radius):
        for x in range(radius, picture.shape[1] - radius):
            total = np.int32(0)
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    total += np.int32(picture[y + dy, x + dx])
            means[y, x] = total // ((2 * radius + 1) * (2 * radius + 1))


def test_windows_are_no_rows_of_lanes_own() -> None:
    """Lanes side by side read neighbours, but where an index might count from the end."""
    rng = np.random.default_rng(2)
    picture = rng.integers(0, 256, (40, 90), np.uint8)
    expected = np.zeros_like(picture)
    box_means_of_rows(picture, 2, expected)
    kernel, loop = cuda.jit(box_means), weft.jit(box_means_of_rows)
    for run in (
        lambda m: kernel[(3, 40), (32, 1)](picture, np.int32(2), m),
        lambda m: loop(picture, np.int32(2), m),
    ):
        means = np.zeros_like(picture)
        run(means)
        np.testing.assert_array_equal(means, expected)
    for report in (kernel.report(), loop.report()):
        assert "lane group of " in str(report)


AUTOMATON = """
define void @k(ptr %starts, i64 %tid.x, ptr %text, ptr %table, ptr %out) "weft.kernel" {
entry:
  %at = getelementptr i64, ptr %starts, i64 %tid.x
  %first = load i64, ptr %at
  %behind = getelementptr i64, ptr %at, i64 1
  %last = load i64, ptr %behind
  br label %head
head:
  %s = phi i64 [ %first, %entry ], [ %next, %body ]
  %state = phi i64 [ 1, %entry ], [ %new, %body ]
  %goes = icmp slt i64 %s, %last
  br i1 %goes, label %body, label %done
body:
  %letter = getelementptr i8, ptr %text, i64 %s
  %c = load i8, ptr %letter
  %row = shl i64 %state, 8
  %wide = zext i8 %c to i64
  %sum = or i64 %row, %wide
  %cell = getelementptr i64, ptr %table, i64 %sum
  %new = load i64, ptr %cell
  %next = add nsw i64 %s, 1
  br label %head
done:
  %result = getelementptr i64, ptr %out, i64 %tid.x
  store i64 %state, ptr %result
  ret void
}
"""


def test_lanes_beside_threads_one_by_one_are_for_rows_that_are_near() -> None:
    automaton = analyzed(AUTOMATON)
    loop, kernel = (
        choose_width(automaton, AVX512, in_loop=in_loop, both_ways=True).width for in_loop in (True, False)
    )
    assert loop == kernel == 64


VOTES = """
define void @k(ptr %xs, i64 %tid.x, ptr %counts, i64 %columns, i64 %n, double %c) "weft.kernel" {
entry:
  %own = uitofp i64 %tid.x to double
  %factor = fmul double %own, %c
  %row = mul i64 %tid.x, %columns
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %goes = icmp slt i64 %k, %n
  br i1 %goes, label %body, label %done
body:
  %at = getelementptr double, ptr %xs, i64 %k
  %x = load double, ptr %at
  %turned = fmul double %x, %factor
  %rho = call i64 @llvm.fptosi.sat.i64.f64(double %turned)
  %first = getelementptr i64, ptr %counts, i64 ROW
  %place = getelementptr i64, ptr %first, i64 %rho
  %count = load i64, ptr %place
  %more = add i64 %count, 1
  store i64 %more, ptr %place
  %next = add nsw i64 %k, 1
  br label %head
done:
  ret void
}
declare i64 @llvm.fptosi.sat.i64.f64(double)
"""


@pytest.mark.parametrize(("row", "found"), [("%row", True), ("%columns", False)], ids=["own", "shared"])
def test_lanes_that_count_in_rows_of_their_own_are_few(row: str, found: bool) -> None:
    votes = analyzed(VOTES.replace("ROW", row))
    assert scatters_in_own_rows(votes) == found
    assert (choose_width(votes, AVX512, in_lanes=True).width == 8) == found
    along = analyzed(VOTES.replace("ROW", row).replace("i64 %rho\n", "i64 %k\n"))
    assert not scatters_in_own_rows(along)
