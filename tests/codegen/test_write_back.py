"""Conditional stores of lanes that have accessed the place: whole vectors are stored where masked stores are slow."""

import itertools

import numpy as np
import pytest

import weft
from codegen.kernels import agree, kernel_text, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.test_forms import lines
from weft import cuda, prange
from weft.analysis.memory.write_back import accesses_before_stores
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE2

READ = "  %p = getelementptr i32, ptr %{}, i64 %tid\n  %d = load i32, ptr %p\n"
UPDATE = """  %q = getelementptr i32, ptr %in, i64 %tid
  %x = load i32, ptr %q
  %c = icmp ult i32 %x, {than}
  br i1 %c, label %then, label %exit
then:
  {before}
  store i32 %x, ptr %p
  br label %exit
exit:"""


def update(before: str = "", than: str = "%d") -> str:
    """``if in[tid] < than: out[tid] = in[tid]``, with something before the store."""
    return UPDATE.format(before=before, than=than)


SMALLEST = READ.format("out") + update()


@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=lambda isa: isa.name)
def test_place_that_all_lanes_have_read_is_written_back(isa):
    text = widened(kernel_text(SMALLEST), 8, isa)
    assert not lines(text, "masked.store")
    assert lines(text, "store <8 x i32>") and lines(text, "freeze <8 x i32>")


def test_masks_in_registers_are_used():
    assert lines(widened(kernel_text(SMALLEST), 16, AVX512), "masked.store")


def test_place_that_nobody_has_read_is_left_alone():
    unread = "  %p = getelementptr i32, ptr %out, i64 %tid\n" + update(than="25")
    assert lines(widened(kernel_text(unread), 8, AVX2), "masked.store")


def test_place_that_some_lanes_have_read_is_left_alone():
    """A lane that has not read it does not know that no other thread writes it."""
    some = """  %p = getelementptr i32, ptr %out, i64 %tid
  %q = getelementptr i32, ptr %in, i64 %tid
  %x = load i32, ptr %q
  %c = icmp ult i32 %x, 25
  br i1 %c, label %then, label %exit
then:
  %d = load i32, ptr %p
  %s = add i32 %d, 1
  store i32 %s, ptr %p
  br label %exit
exit:"""
    assert lines(widened(kernel_text(some), 8, AVX2), "masked.store")


@pytest.mark.parametrize(
    "between",
    ["fence seq_cst", "%o = atomicrmw add ptr %out, i32 1 seq_cst", "%v = load volatile i32, ptr %in"],
)
def test_order_in_memory_keeps_the_mask(between):
    """Another thread may know that this one has read, and write."""
    assert lines(widened(kernel_text(READ.format("out") + update(between)), 8, AVX2), "masked.store")


def test_other_place_is_left_alone():
    other = READ.format("out") + update("%e = getelementptr i32, ptr %p, i64 64").replace(
        "%x, ptr %p", "%x, ptr %e"
    )
    assert lines(widened(kernel_text(other), 8, AVX2), "masked.store")


def test_only_what_its_launcher_vouches_for():
    """The memory of a function in C may be read-only, if it never stores there."""

    def found(attribute: str):
        module = read_module(kernel_text(SMALLEST).replace('"weft.kernel"', attribute))
        return accesses_before_stores(cfg_of(module.functions["kernel"]))

    assert found('"weft.kernel"') == {}
    ((store, loads),) = found('"weft.writable"').items()
    assert [load.pointer for load in loads] == [store.pointer]


WRITTEN = "  %p = getelementptr i32, ptr %out, i64 %tid\n  store i32 7, ptr %p\n"


def test_place_that_all_lanes_have_written_can_be_written():
    """Whoever launches the function: nothing of it is promised here."""
    body = WRITTEN + update(than="25")
    (accesses,) = accesses_before_stores(cfg_of(read_module(kernel_text(body)).functions["kernel"])).values()
    assert [access.op for access in accesses] == ["store"]
    assert not lines(widened(kernel_text(body), 8, AVX2), "masked.store")
    fence = kernel_text(WRITTEN + update("fence seq_cst", than="25"))
    assert lines(widened(fence, 8, AVX2), "masked.store")


@pytest.mark.parametrize("stored", ["store i32 7, ptr %p", "store i16 7, ptr %p", "store i32 7, ptr %in"])
def test_what_was_written_before_agrees(stored):
    """A store of other bytes says nothing of these; it may be of what decides, too."""
    for width, isa in zip((4, 8, 16), itertools.cycle((AVX2, SSE2)), strict=False):
        agree(kernel_text(WRITTEN.replace("store i32 7, ptr %p", stored) + update(than="25")), width, isa)


@pytest.mark.spread
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("order", ["tid", "n32"])
def test_kernel_agrees_with_the_interpreter(width, order):
    backwards = (
        "  %r = sub i64 63, %tid\n  %p = getelementptr i32, ptr %out, i64 %r\n  %d = load i32, ptr %p\n"
    )
    body = SMALLEST if order == "tid" else backwards + update("%y = add i32 %d, 3", "40")
    for isa in ISAS:
        agree(kernel_text(body), width, isa)


def test_neighbours_at_run_time_agree():
    """Lanes that may or may not be side by side."""
    body = f"""  %k = mul i64 %tid, %n
  %w = and i64 %k, 127
  %p = getelementptr i32, ptr %out, i64 %w
  %d = load i32, ptr %p
{update()}"""
    for width, isa in zip((4, 8, 16), itertools.cycle((AVX2, SSE2)), strict=False):
        agree(kernel_text(body), width, isa)


def shorter(d, k):
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1]:
        through = d[i, k] + d[k, j]
        if through < d[i, j]:
            d[i, j] = through


def all_shorter(d):
    for k in range(d.shape[0]):
        for i in prange(d.shape[0]):
            for j in prange(d.shape[1]):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_all_doors_of_python(level, monkeypatch):
    monkeypatch.setenv("WEFT_CPU", level)
    given = np.random.default_rng(7).random((37, 37)).astype(np.float32)
    wanted = given.copy()
    all_shorter(wanted)
    kernel, function = cuda.jit(shorter), weft.jit(parallel=True)(all_shorter)
    as_kernel, as_loops = given.copy(), given.copy()
    for k in range(37):
        kernel[(5, 3), (8, 16)](as_kernel, k)
    function(as_loops)
    assert as_kernel.tobytes() == as_loops.tobytes() == wanted.tobytes()
    assert "freeze" in "".join(map(str, kernel.inspect_llvm().values()))
    assert "freeze" in "".join(map(str, function.inspect_llvm().values()))


ANEW = READ.format("out") + update("{}").replace("%x, ptr %p", "%x, ptr %e")


def test_address_that_is_computed_again_is_the_same_place():
    again = kernel_text(ANEW.format("%e = getelementptr i32, ptr %out, i64 %tid"))
    assert not lines(widened(again, 8, AVX2), "masked.store")
    agree(again, 8, AVX2)


@pytest.mark.parametrize(
    "address",
    [
        "getelementptr inbounds i32, ptr %out, i64 %tid",
        "getelementptr i8, ptr %out, i64 %tid",
        "getelementptr i32, ptr %out, i64 %n",
    ],
)
def test_address_that_is_computed_otherwise_is_left_alone(address):
    """One of other values is another place, and one under other flags may be poison where lanes do not store."""
    module = read_module(
        kernel_text(ANEW.format(f"%e = {address}")).replace('"weft.kernel"', '"weft.writable"')
    )
    assert accesses_before_stores(cfg_of(module.functions["kernel"])) == {}


OWN = """  %own = alloca [4 x i16]
  %q = getelementptr i32, ptr %in, i64 %tid
  %x = load i32, ptr %q
  %s = trunc i32 %x to i16
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fill ]
  %p = getelementptr inbounds [4 x i16], ptr %own, i64 0, i64 %i
  store i16 %s, ptr %p
  %i.next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %i.next, 4
  br i1 %again, label %fill, label %swap
swap:
  %j = phi i64 [ 0, %fill ], [ %j.next, %next ]
  %a = getelementptr inbounds [4 x i16], ptr %own, i64 0, i64 %j
  %old = load i16, ptr %a
  %c = icmp slt i16 %old, 21
  br i1 %c, label %then, label %next
then:
  %b = getelementptr inbounds [4 x i16], ptr %own, i64 0, i64 %j
  %t = trunc i64 %j to i16
  store i16 %t, ptr %b
  br label %next
next:
  %j.next = add nuw nsw i64 %j, 1
  %more = icmp ult i64 %j.next, 4
  br i1 %more, label %swap, label %out.of.it
out.of.it:
  %l = getelementptr inbounds [4 x i16], ptr %own, i64 0, i64 2
  %last = load i16, ptr %l
  %wide = sext i16 %last to i32
  %o = getelementptr i32, ptr %out, i64 %tid
  store i32 %wide, ptr %o
  br label %exit
exit:"""


def test_own_objects_can_be_written():
    """Whoever launches the function."""
    found = accesses_before_stores(cfg_of(read_module(kernel_text(OWN)).functions["kernel"]))
    assert any(access.op == "load" for accesses in found.values() for access in accesses)
    for width, isa in ((8, SSE2), (16, AVX2), (16, AVX512)):
        text = widened(kernel_text(OWN), width, isa)
        assert bool(lines(text, "masked.store")) == (isa is AVX512)
        agree(kernel_text(OWN), width, isa)


def sorted_rows(a):
    for r in prange(a.shape[0]):
        own = np.empty(12, np.int16)
        for i in range(12):
            own[i] = a[r, i]
        for s in range(12):
            for i in range(s & 1, 11, 2):
                if own[i] > own[i + 1]:
                    own[i], own[i + 1] = own[i + 1], own[i]
        for i in range(12):
            a[r, i] = own[i]


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_rows_are_sorted_in_local_arrays(level, monkeypatch):
    monkeypatch.setenv("WEFT_CPU", level)
    rows = np.random.default_rng(8).integers(-300, 300, (37, 12)).astype(np.int16)
    wanted = np.sort(rows, 1)
    function = weft.jit(sorted_rows, without=("own-arrays",))
    function(rows)
    np.testing.assert_array_equal(rows, wanted)
    text = "".join(map(str, function.inspect_llvm().values()))
    assert ("freeze" in text) == (level != "x86-64-v4")
