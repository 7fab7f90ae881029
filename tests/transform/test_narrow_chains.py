"""Numbers that fit 8 or 16 bits are computed in as many where that pays, with the same results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import cuda
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.interp import Memory, run_function
from weft.ir import Module, Value
from weft.ir.reader import read_module
from weft.ir.types import I8, I16, I32, IntType
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, AVX512, SSE4
from weft.transform.numbers.narrow_chains import has_narrow_numbers, narrow_chains

ISAS = (SSE4, AVX2, AVX512)

AROUND = """
define void @k(ptr %cells, ptr %out, i64 %tid.x) "weft.kernel" {
entry:
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n1, %body ]
  %sum = phi i32 [ 0, %entry ], [ %more, %body ]
  %again = icmp ult i64 %n, 9
  br i1 %again, label %body, label %done
body:
  %next = getelementptr i8, ptr %at, i64 %n
  %cell = load i8, ptr %next
  %wide = zext i8 %cell to i32
  %more = add nsw i32 %sum, %wide
  %n1 = add i64 %n, 1
  br label %head
done:
  %total = phi i32 [ %sum, %head ]
  %own = load i8, ptr %at
  %self = zext i8 %own to i32
  %others = sub nsw i32 %total, %self
  %key = sext i32 %others to i64
  switch i64 %key, label %dead [
    i64 3, label %alive
    i64 -2, label %dead
  ]
alive:
  br label %stored
dead:
  br label %stored
stored:
  %lives = phi i8 [ 1, %alive ], [ 0, %dead ]
  %place = getelementptr i8, ptr %out, i64 %tid.x
  store i8 %lives, ptr %place
  ret void
}
"""


def narrowed(text: str, *types: IntType, isa=AVX2) -> tuple[Module, int]:
    module = read_module(text)
    kernel = module.functions["k"]
    domain = domain_named("product", (8,))
    shapes: dict[Value, Shape] = {a: domain.strided(1, 64, 8) for a in kernel.args if a.name == "tid.x"}
    count = 0
    for type in types:
        divergence = analyze_divergence(kernel, domain=domain, initial=shapes, width=8)
        count += narrow_chains(kernel, divergence, isa, type)
        verify(module)
    return module, count


def bits_of(module: Module) -> set[int]:
    """The bits of what is computed, addresses and conditions apart."""
    kept = ("add", "sub", "select", "phi", "sext", "zext", "mul", "and", "or", "xor", "call", "load")
    found = (i for i in module.functions["k"].instructions() if i.op in kept)
    return {i.type.bits for i in found if isinstance(i.type, IntType) and i.name not in ("n", "n1")}


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_sum_of_bytes_and_what_is_asked_of_it_have_16_bits(isa) -> None:
    assert has_narrow_numbers(read_module(AROUND).functions["k"])
    module, count = narrowed(AROUND, I8, I16, isa=isa)
    assert count == 7 and bits_of(module) == {8, 16}


def run(module: Module, cells: np.ndarray) -> list[int]:
    memory = Memory()
    out = np.zeros(16, np.uint8)
    arguments = [memory.map_array(cells), memory.map_array(out), np.arange(16)]
    run_function(module, "k", arguments, 16, memory=memory)
    return out.tolist()


@pytest.mark.parametrize("most", [2, 256])
def test_cells_live_and_die_as_before(most: int) -> None:
    cells = np.random.default_rng(1).integers(0, most, 24, np.uint8)
    assert run(narrowed(AROUND, I8, I16)[0], cells) == run(read_module(AROUND), cells)


def test_sums_that_may_be_larger_stay() -> None:
    assert narrowed(AROUND.replace("%n, 9", "%n, 900"), I8, I16)[1] == 0


def test_what_is_stored_wide_at_once_stays() -> None:
    text = """
define void @k(ptr %cells, ptr %out, i64 %tid.x) "weft.kernel" {
entry:
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  %cell = load i8, ptr %at
  %wide = zext i8 %cell to i32
  %more = add i32 %wide, 1
  %place = getelementptr i32, ptr %out, i64 %tid.x
  store i32 %more, ptr %place
  ret void
}
"""
    assert narrowed(text, I8, I16)[1] == 0


LEAST = """
declare i32 @llvm.umin.i32(i32, i32) memory(none) nounwind willreturn speculatable
declare i32 @llvm.smax.i32(i32, i32) memory(none) nounwind willreturn speculatable
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1) memory(argmem: write) nounwind willreturn
define void @k(ptr %cells, ptr %out, i64 %tid.x) "weft.kernel" {
entry:
  %own = alloca [12 x i32]
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 48, i1 false)
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n1, %body ]
  %again = icmp ult i64 %n, 8
  br i1 %again, label %body, label %done
body:
  %next = getelementptr i8, ptr %at, i64 %n
  %cell = load i8, ptr %next
  %wide = zext i8 %cell to i32
  %less = sub i32 %wide, 100
  %here = getelementptr [12 x i32], ptr %own, i64 0, i64 %n
  %there = getelementptr i8, ptr %here, i64 8
  %before = load i32, ptr %here
  %half = ashr i32 %before, 1
  %both = add i32 %half, %less
  %large = call i32 @llvm.smax.i32(i32 %both, i32 -7)
  %small = call i32 @llvm.umin.i32(i32 %large, i32 90)
  store i32 %small, ptr %there
  %n1 = add i64 %n, 1
  br label %head
done:
  %last = getelementptr i8, ptr %own, i64 36
  %found = load i32, ptr %last
  %seen = icmp sgt i32 %found, 20
  %result = select i1 %seen, i8 3, i8 5
  %place = getelementptr i8, ptr %out, i64 %tid.x
  store i8 %result, ptr %place
  ret void
}
"""


def test_objects_of_small_numbers_have_small_elements() -> None:
    module, count = narrowed(LEAST, I8, I16)
    assert count
    (own,) = (i for i in module.functions["k"].instructions() if i.op == "alloca")
    assert str(own.allocated_type) == "[12 x i16]"
    assert 32 not in bits_of(module)
    for seed in range(8):
        cells = np.random.default_rng(seed).integers(0, 256, 24, np.uint8)
        assert run(module, cells) == run(read_module(LEAST), cells)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("alloca [12 x i32]", "alloca [12 x i32]\n  store ptr %own, ptr %out"),
        ("getelementptr i8, ptr %here, i64 8", "getelementptr i8, ptr %here, i64 6"),
        ("i64 48, i1 false", "i64 46, i1 false"),
        ("i8 0, i64 48", "i8 1, i64 48"),
        ("store i32 %small, ptr %there", "store i32 %small, ptr %there\n  store i16 1, ptr %there"),
        ("store i32 %small, ptr %there", "store i32 %small, ptr %there\n  store i32 70000, ptr %there"),
    ],
)
def test_other_objects_keep_their_elements(what: str, instead: str) -> None:
    assert what in LEAST
    module, _ = narrowed(LEAST.replace(what, instead), I8, I16)
    (own,) = (i for i in module.functions["k"].instructions() if i.op == "alloca")
    assert str(own.allocated_type) == "[12 x i32]"


OPERATIONS = [
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "ashr",
    "lshr",
    "shl",
    "smin",
    "smax",
    "umin",
    "umax",
    "select",
]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A loop that computes with two bytes, keeps one of a few results within bounds, and asks of it."""
    bits = draw(st.sampled_from([16, 32, 64]))
    wide = f"i{bits}"
    lines, values = [], ["%a", "%b", "%k"]
    for number in range(draw(st.integers(1, 6))):
        op = draw(st.sampled_from(OPERATIONS))
        pick = st.sampled_from([*values, "-3", "2", "100", "255"])
        x, y, name = draw(pick), draw(pick), f"%v{number}"
        if op in ("ashr", "lshr", "shl"):
            y = str(draw(st.sampled_from([1, 3, 9])))
        if op == "select":
            lines += [f"%c{number} = icmp {draw(st.sampled_from(PREDICATES))} {wide} {x}, {y}"]
            lines += [f"{name} = select i1 %c{number}, {wide} {y}, {wide} {draw(pick)}"]
        elif op in ("smin", "smax", "umin", "umax"):
            lines += [f"{name} = call {wide} @llvm.{op}.{wide}({wide} {x}, {wide} {y})"]
        else:
            lines += [f"{name} = {op} {wide} {x}, {y}"]
        values.append(name)
    low = draw(st.sampled_from([-32768, -128, -5, 0]))
    high = draw(st.sampled_from([100, 127, 255, 32767] + ([65535] if bits > 16 else [])))
    body = "\n  ".join(lines)
    declared = "\n".join(
        f"declare {wide} @llvm.{op}.{wide}({wide}, {wide}) memory(none) nounwind willreturn speculatable"
        for op in ("smin", "smax", "umin", "umax")
    )
    stored = draw(st.sampled_from(["zext i1 %asked to i8", f"trunc {wide} %k to i8"]))
    return f"""
{declared}
define void @k(ptr %cells, ptr %out, i64 %tid.x) "weft.kernel" {{
entry:
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n1, %body ]
  %k = phi {wide} [ 1, %entry ], [ %kept, %body ]
  %again = icmp ult i64 %n, 5
  br i1 %again, label %body, label %done
body:
  %next = getelementptr i8, ptr %at, i64 %n
  %cell = load i8, ptr %next
  %a = {draw(st.sampled_from(["zext", "sext"]))} i8 %cell to {wide}
  %other = getelementptr i8, ptr %next, i64 3
  %cell.other = load i8, ptr %other
  %b = {draw(st.sampled_from(["zext", "sext"]))} i8 %cell.other to {wide}
  {body}
  %raised = call {wide} @llvm.smax.{wide}({wide} {values[-1]}, {wide} {low})
  %kept = call {wide} @llvm.smin.{wide}({wide} %raised, {wide} {high})
  %n1 = add i64 %n, 1
  br label %head
done:
  %asked = icmp {draw(st.sampled_from(PREDICATES))} {wide} %k, {draw(st.sampled_from([-1, 0, 7, 200]))}
  %result = {stored}
  %place = getelementptr i8, ptr %out, i64 %tid.x
  store i8 %result, ptr %place
  ret void
}}
"""


@given(programs(), st.integers(0, 99))
def test_random_chains_compute_the_same(text: str, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 256, 24, np.uint8)
    before = run(read_module(text), cells)
    assert run(narrowed(text, I8, I16, I32)[0], cells) == before


YUV = """
define void @k(ptr %cells, ptr %out, i64 %tid.x) "weft.kernel" {
entry:
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  %r = load i8, ptr %at
  %wide = zext i8 %r to i32
  %next = getelementptr i8, ptr %at, i64 3
  %b = load i8, ptr %next
  %wider = zext i8 %b to i32
  %red = mul i32 %wide, 16777178
  %blue = mul i32 %wider, 112
  %sum = add i32 %red, %blue
  %moved = add i32 %sum, 32896
  %high = lshr i32 %moved, 8
  %byte = trunc i32 %high to i8
  %place = getelementptr i8, ptr %out, i64 %tid.x
  store i8 %byte, ptr %place
  ret void
}
"""
"""As LLVM leaves a channel with a negative factor, of which it keeps as many bits as are used."""


def test_numbers_need_not_fit_where_low_bits_are_used() -> None:
    module, count = narrowed(YUV, I8, I16)
    assert count == 7 and bits_of(module) == {8, 16}
    cells = np.random.default_rng(4).integers(0, 256, 24, np.uint8)
    assert run(module, cells) == run(read_module(YUV), cells)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("lshr i32 %moved, 8", "lshr i32 %moved, 9"),
        ("store i8 %byte, ptr %place", "store i32 %moved, ptr %cells\n  store i8 %byte, ptr %place"),
        (
            "store i8 %byte, ptr %place",
            "%more = sdiv i32 %high, %wide\n  store i32 %more, ptr %cells\n  store i8 %byte, ptr %place",
        ),
    ],
)
def test_they_stay_where_more_is_used(what: str, instead: str) -> None:
    assert what in YUV
    module, count = narrowed(YUV.replace(what, instead), I8, I16)
    assert 32 in bits_of(module)
    assert not any(
        i.op == "mul" and i.type == I16 and i.name == "red" for i in module.functions["k"].instructions()
    )
    assert count < 7


@st.composite
def sums_of_bytes(draw: st.DrawFn) -> str:
    """Sums, products and shifts of two bytes, with flags that hold, of which some low bits are stored."""
    lines, values = [], ["%a", "%b"]
    for number in range(draw(st.integers(2, 9))):
        op = draw(
            st.sampled_from(
                ["add", "sub", "mul", "and", "or", "xor", "ashr", "lshr", "shl", "select", "sext"]
            )
        )
        pick = st.sampled_from([*values, *values, "-3", "38", "255", "16777178", "4096"])
        x, y, name = draw(st.sampled_from(values)), draw(pick), f"%v{number}"
        if op in ("ashr", "lshr", "shl"):
            lines += [f"{name} = {op} i32 {x}, {draw(st.sampled_from([1, 4, 8, 11]))}"]
        elif op == "select":
            lines += [f"%c{number} = icmp {draw(st.sampled_from(PREDICATES))} i32 {x}, {y}"]
            lines += [f"{name} = select i1 %c{number}, i32 {y}, i32 {draw(pick)}"]
        elif op == "sext":
            lines += [f"%s{number} = trunc i32 {x} to i16", f"{name} = sext i16 %s{number} to i32"]
        else:
            lines += [f"{name} = {op} i32 {x}, {y}"]
        values.append(name)
    for number in range(draw(st.integers(1, 3))):
        lines += [
            f"%o{number} = {draw(st.sampled_from(['lshr', 'ashr']))} i32 {draw(st.sampled_from(values))}, "
        ]
        lines[-1] += str(draw(st.sampled_from([0, 1, 5, 8, 16])))
        bits = draw(st.sampled_from([8, 8, 16, 32]))
        lines += [f"%p{number} = getelementptr i32, ptr %out, i64 {number}"]
        if bits == 32:
            lines += [f"store i32 %o{number}, ptr %p{number}"]
        else:
            lines += [
                f"%t{number} = trunc i32 %o{number} to i{bits}",
                f"store i{bits} %t{number}, ptr %p{number}",
            ]
    body = "\n  ".join(lines)
    return f"""
define void @k(ptr %cells, ptr %outs, i64 %tid.x) "weft.kernel" {{
entry:
  %out = getelementptr [4 x i32], ptr %outs, i64 %tid.x
  %at = getelementptr i8, ptr %cells, i64 %tid.x
  %cell = load i8, ptr %at
  %a = {draw(st.sampled_from(["zext", "sext"]))} i8 %cell to i32
  %next = getelementptr i8, ptr %at, i64 7
  %cell.next = load i8, ptr %next
  %b = {draw(st.sampled_from(["zext", "sext"]))} i8 %cell.next to i32
  {body}
  ret void
}}
"""


@given(sums_of_bytes(), st.integers(0, 99), st.sampled_from(ISAS))
def test_what_is_stored_of_low_bits_is_the_same(text: str, seed: int, isa) -> None:
    cells = np.random.default_rng(seed).integers(0, 256, 24, np.uint8)
    found = []
    for module in (read_module(text), narrowed(text, I8, I16, isa=isa)[0]):
        memory, out = Memory(), np.zeros((16, 4), np.int32)
        run_function(
            module, "k", [memory.map_array(cells), memory.map_array(out), np.arange(16)], 16, memory=memory
        )
        found.append(out)
    np.testing.assert_array_equal(*found)


def life(cells, alive):
    x, y = cuda.grid(2)
    if 0 < y < cells.shape[0] - 1 and 0 < x < cells.shape[1] - 1:
        around = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                around += cells[y + dy, x + dx]
        around -= cells[y, x]
        alive[y, x] = around == 3 or (around == 2 and cells[y, x] == 1)


def test_a_kernel_computes_in_16_bits_and_says_so() -> None:
    cells = (np.random.default_rng(3).random((20, 70)) < 0.4).astype(np.uint8)
    cells[4, 5] = 255
    alive = np.zeros_like(cells)
    kernel = cuda.jit(life)
    kernel[(3, 3), (32, 8)](cells, alive)
    near = [
        np.roll(cells.astype(int), (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx
    ]
    wanted = (sum(near) == 3) | ((sum(near) == 2) & (cells == 1))
    np.testing.assert_array_equal(alive[1:-1, 1:-1], wanted[1:-1, 1:-1])
    (compiled,) = kernel.overloads.values()
    assert any(r.message.endswith("computed in 8 or 16 bits") for r in compiled.remarks)
    assert "x i16>" in next(iter(kernel.inspect_llvm().values()))
