"""What lane groups load from one place is loaded once for a row; what they may have written themselves is not."""

import re

import numpy as np
import pytest

import weft
from codegen.kernels import kernel_text
from codegen.machine_code import ISAS, compile_kernel
from pairs import WHOLE
from weft import cuda, interp, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.groups.shared_loads import share_loads

#   entry ──▶ header ◀── body       each body calls the function for another group of threads
#                │ ▲       │
#                │ └───────┘
#                ▼
#              done
ROW = """
define void @row(ptr %a, ptr %b, i64 %n) {{
entry:
  {cells}
  br label %header
header:
  %x = phi i64 [ 0, %entry ], [ %next, %body ]
  %c = icmp slt i64 %x, %n
  br i1 %c, label %body, label %done
body:
  {before}
  call void @group(ptr %a, ptr {b}, i64 %x)
  %next = add i64 %x, 1
  br label %header
done:
  ret void
}}
"""
GROUP = """
define void @group(ptr %a, ptr %b, i64 %x) {attribute} {{
entry:
  br label %go
go:
{body}
  ret void
}}
"""
STORE = """  %p = getelementptr i32, ptr %a, i64 %x
  %o = load i32, ptr %p
  %s = add i32 %o, %v
  store i32 %s, ptr %p
"""
SHARED = "  %q = getelementptr i32, ptr %b, i64 3\n  %v = load i32, ptr %q\n" + STORE


def parsed(
    body: str = SHARED, attribute: str = '"weft.apart"', cells: str = "", b: str = "%b", before: str = ""
) -> Module:
    text = ROW.format(cells=cells, b=b, before=before) + GROUP.format(attribute=attribute, body=body)
    module = read_module(text)
    verify(module)
    return module


def what_is_left(module: Module, count: int, b_given: bool = True) -> list[int]:
    """Memory behind a row of so many groups."""
    memory, a, b = Memory(), np.arange(16, dtype=np.int32), np.arange(50, 60, dtype=np.int32)
    arguments = [memory.map_array(a), memory.map_array(b) if b_given else 0, count]
    run_function(Program(module), "row", arguments, 1, memory=memory)
    return a.tolist()


def test_load_leaves_the_loop():
    module, before = parsed(), parsed()
    assert len(share_loads(module)) == 1
    verify(module)
    group = write_module(module).split("define void @group")[1]
    assert group.count("load i32") == 1
    assert "weft.apart" not in group
    for count in (0, 1, 9):
        assert what_is_left(module, count) == what_is_left(before, count)


def test_row_without_groups_loads_nothing():
    module = parsed()
    share_loads(module)
    assert what_is_left(module, 0, b_given=False) == list(range(16))


def test_pointers_that_are_loaded_are_followed():
    chain = (
        "  %w = load ptr, ptr %b\n  %q = getelementptr i32, ptr %w, i64 3\n  %v = load i32, ptr %q\n" + STORE
    )
    module = parsed(chain)
    assert len(share_loads(module)) == 2
    verify(module)


@pytest.mark.parametrize(
    "body",
    [
        "  %q = getelementptr i32, ptr %b, i64 %x\n  %v = load i32, ptr %q\n" + STORE,
        "  store i32 7, ptr %b\n  %v = load i32, ptr %b\n" + STORE,
        "  %v = load volatile i32, ptr %b\n" + STORE,
        "  %v = load atomic i32, ptr %b seq_cst, align 4\n" + STORE,
        "  fence seq_cst\n  %v = load i32, ptr %b\n" + STORE,
        "  %z = load i32, ptr %b\n  %c = icmp eq i32 %z, 0\n  %v = zext i1 %c to i32\n" + STORE,
        "  %c = icmp eq i64 %x, 2\n  br i1 %c, label %then, label %end\n"
        "then:\n  %v = load i32, ptr %b\n" + STORE + "  br label %end\nend:",
        "  %v = load i32, ptr %b\n",
    ],
    ids=["place", "written", "volatile", "atomic", "fence", "compared", "conditional", "nothing-written"],
)
def test_other_loads_stay(body):
    """What a group writes before, what other threads tell it, what it may not load, and what LLVM sees by itself."""
    assert not share_loads(parsed(body))


def test_only_what_is_apart():
    """A loop in lock step hands on what it writes; so do reductions, in cells on the stack."""
    assert not share_loads(parsed(attribute=""))
    cell = parsed(cells="%cell = alloca i32, i64 4", b="%cell")
    assert not share_loads(cell)


def test_round_that_begins_with_a_store_stays():
    assert not share_loads(parsed(before="store i32 1, ptr %b"))


KERNEL = """  %q = getelementptr i32, ptr %out, i64 40
  %v = load i32, ptr %q
  %p = getelementptr i32, ptr %in, i64 %tid
  %o = load i32, ptr %p
  %s = add i32 %o, %v
  %r = getelementptr i32, ptr %out, i64 %tid
  store i32 %s, ptr %r"""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_kernels_do_what_they_did(isa):
    """Whole and partial lane groups, in rows of none, one and several."""
    code = compile_kernel(kernel_text(KERNEL), 8, isa)
    function = re.search(r"^define[^\n]*@kernel\.w8\(.*?^}", code.lowered.text, re.M | re.S)
    assert function is not None
    assert " load i32," not in function.group(0)
    program = Program(read_module(kernel_text(KERNEL)))
    for threads in (1, 8, 13, 33):
        given = np.arange(64, dtype=np.uint32)
        wanted, got = np.full(64, 5, np.uint32), np.full(64, 5, np.uint32)
        interp.launch(program, "kernel", (given, wanted, 0, 0), 1, threads, width=8)
        code((given, got, 0, 0), threads)
        np.testing.assert_array_equal(got, wanted)


def shortest(d):
    for k in range(d.shape[0]):
        for i in prange(d.shape[0]):
            for j in prange(d.shape[1]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def one_way(d, k):
    j, i = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1]:
        d[i, j] = min(d[i, j], d[i, k] + d[k, j])


@pytest.mark.parametrize("count", [5, 40, 67] if WHOLE else [5, 37])
def test_shortest_paths(count):
    """The column that all of a row load is in the row that they store to."""
    d = np.random.default_rng(3).integers(1, 99, (count, count)).astype(np.float32)
    np.fill_diagonal(d, 0)
    wanted = d.copy()
    for k in range(count):
        wanted = np.minimum(wanted, wanted[:, k, None] + wanted[k])
    for leave_out in ((), ("shared-loads",)):
        loops, threads = d.copy(), d.copy()
        weft.jit(shortest, without=leave_out)(loops)
        kernel = cuda.jit(one_way, without=leave_out)
        for k in range(count):
            kernel[(-(-count // 16), -(-count // 4)), (16, 4)](threads, k)
        np.testing.assert_array_equal(loops, wanted)
        np.testing.assert_array_equal(threads, wanted)


def test_totals_of_lanes_stay():
    """Each round of the loop adds to what the one before it has left."""

    def total(a, b, scale):
        found = 0.0
        for i in prange(a.size):
            a[i] += scale[0]
            found += b[i] * scale[0]
        return found

    a, b, scale = np.ones(75), np.arange(75.0), np.array([2.0])
    assert weft.jit(total, fastmath=True)(a, b, scale) == 2 * b.sum()
    np.testing.assert_array_equal(a, 3.0)


def test_it_is_said():
    def scaled(factors, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] *= factors[0]

    remarks = cuda.jit("void(float32[::1], float32[::1])")(scaled).remarks
    assert any("loaded once for a row" in r.message for r in remarks)
