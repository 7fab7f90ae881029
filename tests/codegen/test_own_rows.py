"""Neighbours in rows of each lane's own are accessed in pieces of 128 bits, and transposed."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import weft
from codegen.kernels import agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.structures import loads, member, mixed, stores
from codegen.test_forms import lines
from weft import cuda
from weft.codegen.widen.access_groups import MAX_OPEN
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.opencl import Program

APART = 32
"""Fields from thread to thread: more than are accessed together as parts of structures."""

INDEX = (
    "  %p = getelementptr i32, ptr %in, i64 %tid\n  %word = load i32, ptr %p, align 4\n"
    "  %own32 = and i32 %word, 7\n  %own = zext nneg i32 %own32 to i64\n"
)


EVEN = [*range(0, MAX_OPEN, 2)]


def load_row(which: list[int], type: str = "i32") -> str:
    return INDEX + loads(APART, which, type, "%own")


def pair_across_the_end() -> str:
    """A row of four and a neighbour: so many loads are behind its first one that the others would make pairs."""
    text, count = INDEX, 0
    for index, which in (("own", [4]), ("own1", EVEN), ("own2", EVEN), ("own", [5, 6, 7, 8])):
        if index[-1].isdigit():
            text += f"  %{index}.all = lshr i32 %word, {index[-1]}\n  %{index}.32 = and i32 %{index}.all, 7\n"
            text += f"  %{index} = zext nneg i32 %{index}.32 to i64\n"
        for field in which:
            text += member("%in", APART, field, f"i{count}", index=f"%{index}")
            text += f"  %v{count} = load i32, ptr %i{count}\n"
            count += 1
    assert count == MAX_OPEN + 5
    return text + mixed(count) + stored("%m")


KERNELS = {
    "eight": load_row([*range(8)]) + mixed(8) + stored("%m"),
    "eight in any order": load_row([5, 3, 0, 7, 1, 2, 6, 4]) + mixed(8) + stored("%m"),
    "nine from the middle": load_row([*range(7, 16)]) + mixed(9) + stored("%m"),
    "twenty": load_row([*range(20)]) + mixed(20) + stored("%m"),
    "four": load_row([*range(4)]) + mixed(4) + stored("%m"),
    "three": load_row([*range(3)]) + mixed(3) + stored("%m"),
    "a pair across the end": pair_across_the_end(),
    "doubles": INDEX
    + loads(16, [*range(4)], "i64", "%own")
    + mixed(4, "i64")
    + "  %low = trunc i64 %m to i32\n"
    + stored("%low"),
}


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_loads_agree_with_the_interpreter(body: str) -> None:
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        agree(kernel_text(guarded(body) if k % 2 else body), width, isa)


def stored_row(which: list[int], between: str = "") -> str:
    """Threads store to eight rows, of which each has one value an element, whichever thread stores it."""
    values = "".join(f"  %s{k} = add i32 %own32, {100 + k}\n" for k in range(len(which)))
    text = INDEX + values
    parts = stores(APART, which, [f"%s{k}" for k in range(len(which))], index="%own").splitlines(
        keepends=True
    )
    parts.insert(len(parts) // 2 // 2 * 2, between)
    return text + "".join(parts)


@pytest.mark.parametrize("which", [[*range(8)], [5, 3, 0, 7, 1, 2, 6, 4], [*range(3, 24)], [*range(4)]])
def test_stores_agree_with_the_interpreter(which: list[int]) -> None:
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        body = stored_row(which)
        agree(kernel_text(guarded(body) if k % 2 else body), width, isa)


def pieces(text: str, op: str, type: str = r"<4 x i32>") -> int:
    return len(lines(text, rf"{op} {type}"))


@pytest.mark.parametrize(
    ("isa", "width"), [(SSE2, 8), (AVX2, 8), (AVX512, 16)], ids=["sse2", "avx2", "avx512"]
)
def test_each_lane_has_a_piece_for_four_elements(isa: Isa, width: int) -> None:
    text = widened(kernel_text(KERNELS["eight"]), width, isa)
    assert pieces(text, "load") == 2 * width and not lines(text, "gather")


def test_a_gather_is_no_worse_than_one_piece() -> None:
    assert pieces(widened(kernel_text(KERNELS["four"]), 16, AVX512), "load") == 0
    assert pieces(widened(kernel_text(KERNELS["four"]), 8, AVX2), "load") == 8


def test_under_a_mask_rows_are_gathered() -> None:
    assert pieces(widened(kernel_text(guarded(KERNELS["eight"])), 16, AVX512), "load") == 0


def test_what_may_change_a_row_keeps_its_loads_apart() -> None:
    write = "  %w = getelementptr i32, ptr {}, i64 %n\n  store i32 5, ptr %w\n"
    for base, together in (("%in", False), ("%out", True)):
        parts = load_row([*range(8)]).split("  %i4 =")
        body = "  %i4 =".join([parts[0] + write.format(base), *parts[1:]]) + mixed(8) + stored("%m")
        text = widened(kernel_text(body), 16, AVX512)
        assert (pieces(text, "load") > 0) is together


def test_what_may_read_a_row_keeps_its_stores_apart() -> None:
    read = "  %r = getelementptr i32, ptr {}, i64 %n\n  %seen = load i32, ptr %r\n"
    for base, together in (("%out", False), ("%in", True)):
        body = stored_row([*range(8)], read.format(base)) + stored("%seen")
        text = widened(kernel_text(body), 16, AVX512)
        assert (pieces(text, "store") > 0) is together


def smooth(z, out, q):
    for i in weft.prange(z.shape[0]):
        last = z[i, 0]
        for t in range(z.shape[1]):
            last = z[i, t] + q * (last - z[i, t])
            out[i, t] = last


def smooth_row(z, out, q):
    i = cuda.grid(1)
    if i < z.shape[0]:
        last = z[i, 0]
        for t in range(z.shape[1]):
            last = z[i, t] + q * (last - z[i, t])
            out[i, t] = last


def expected(z: np.ndarray, q: np.floating) -> np.ndarray:
    out, last = np.empty_like(z), z[:, 0]
    for t in range(z.shape[1]):
        last = z[:, t] + q * (last - z[:, t])
        out[:, t] = last
    return out


@pytest.mark.spread
@pytest.mark.parametrize("type", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [5, 15, 16, 17, 33, 64])
def test_kernels_and_loops_filter_rows(type: type[np.floating], columns: int) -> None:
    z = np.random.default_rng(2).random((37, columns)).astype(type)
    wanted = expected(z, type(0.25))
    loop, kernel = weft.jit(smooth), cuda.jit(smooth_row)
    for in_place in (False, True):
        given = z.copy()
        out = given if in_place else np.zeros_like(z)
        loop(given, out, type(0.25))
        np.testing.assert_array_equal(out, wanted)
        given = z.copy()
        out = given if in_place else np.zeros_like(z)
        kernel[3, 16](given, out, type(0.25))
        np.testing.assert_array_equal(out, wanted)


def changes(z, out):
    i = cuda.grid(1)
    if i < z.shape[0]:
        before = last = z[i, 0]
        t, n = 0, z.shape[1]
        while True:
            here = z[i, t]
            out[i, t] = here - last + before
            before, last, t = last, here, t + 1
            if t >= n:
                break


@pytest.mark.parametrize("columns", [1, 16, 33, 48])
def test_elements_may_be_handed_on_to_the_next_iteration(columns: int) -> None:
    z = np.random.default_rng(4).integers(0, 99, (20, columns)).astype(np.float32)
    ahead = np.concatenate([z[:, :1], z[:, :1], z], axis=1)
    out = np.zeros_like(z)
    cuda.jit(changes)[2, 16](z, out)
    np.testing.assert_array_equal(out, z - ahead[:, 1:-1] + ahead[:, :-2])


def test_rows_that_overlap_otherwise_are_seen_by_each_iteration() -> None:
    both = np.random.default_rng(3).random((8, 41)).astype(np.float32)
    wanted = both.copy()
    for i in range(8):
        last = wanted[i, 0]
        for t in range(40):
            last = np.float32(wanted[i, t] + np.float32(0.25) * (last - wanted[i, t]))
            wanted[i, t + 1] = last
    loop, kernel = weft.jit(smooth), cuda.jit(smooth_row)
    for run in (loop, kernel[1, 8]):
        given = both.copy()
        run(given[:, :40], given[:, 1:], np.float32(0.25))
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_remarks_name_the_rows(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    monkeypatch.setenv("WEFT_CACHE", "0")
    z = np.zeros((32, 64), np.float32)
    made = weft.jit(smooth)
    made(z, z.copy(), np.float32(0.25))
    assert sum(r.pass_name == "row strips" for r in made.remarks) == 2
    without = weft.jit(without=("row-strips",))(smooth)
    without(z, z.copy(), np.float32(0.25))
    assert not any(r.pass_name == "row strips" for r in without.remarks)


BODY = """
    float last = 0;
    for (int t = 0; t < n; t++) {{
        last = z[i * n + t] + 0.5f * last;
        out[i * n + t] = last;
    }}
"""
OPENCL = f"""
kernel void smooth(global const float *z, global float *out, int n) {{{{ int i = get_global_id(0); {BODY} }}}}"""
CUDA = f"""extern "C" __global__ void smooth(const float *z, float *out, int n) {{{{
    int i = blockIdx.x * blockDim.x + threadIdx.x; {BODY} }}}}"""
C_LOOP = """
void smooth(int rows, const float *restrict z, float *restrict out) {
    for (int i = 0; i < rows; i++) {
        float last = 0;
        for (int t = 0; t < 40; t++) {
            last = z[40 * i + t] + 0.5f * last;
            out[40 * i + t] = last;
        }
    }
}
"""


@pytest.mark.parametrize("door", ["OpenCL C", "CUDA C++"])
def test_c_dialects_go_along_rows(door: str) -> None:
    pytest.importorskip("ziglang")
    z = np.random.default_rng(2).random((64, 41), np.float32)
    out, wanted, last = np.zeros_like(z), np.zeros_like(z), np.zeros(64, np.float32)
    for t in range(41):
        last = z[:, t] + np.float32(0.5) * last
        wanted[:, t] = last
    if door == "OpenCL C":
        kernel = Program(OPENCL.format()).smooth
        kernel((64,), (16,), z, out, 41)
    else:
        kernel = cuda.Module(CUDA.format()).smooth
        kernel[4, 16](z, out, 41)
    np.testing.assert_allclose(out, wanted, rtol=1e-6)
    assert sum(r.pass_name == "row strips" for r in kernel.remarks) == 2


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_loop_in_c_goes_along_rows(tmp_path: Path, isa: Isa) -> None:
    pytest.importorskip("ziglang")
    source = tmp_path / "smooth.c"
    source.write_text(C_LOOP)
    made = vectorize_ir(source, "smooth", width=8, loop="outermost", target=isa.cpu)
    assert sum(r.pass_name == "row strips" for r in made.remarks) == 2
