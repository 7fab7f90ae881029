"""Whole kernels in PTX: shared memory, barriers, warps, calls, branches, atomics, variables."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from weft import cuda
from weft.cuda.ptx.module import Module
from weft.errors import (
    ArgumentError,
    BarrierDivergence,
    FailedAssertionError,
    LaunchError,
    PtxError,
    SanitizerError,
    UnsupportedError,
)

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def _kernel(body: str, parameters: str = ".param .u64 out, .param .u64 x", before: str = "") -> str:
    return f"""{_HEAD}{before}
.visible .entry k({parameters})
{{
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<32>;
    .reg .f32 %f<16>;
    .reg .b64 %rd<32>;
{body}
    ret;
}}
"""


_ELEMENT = """
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.b32 %r2, [%rd2];
"""

_REDUCTION = (
    _ELEMENT
    + """
    mov.u32 %r3, partial;
    shl.b32 %r4, %r1, 2;
    add.s32 %r5, %r3, %r4;
    st.shared.u32 [%r5], %r2;
    mov.u32 %r6, 64;
$again:
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r6;
    @%p1 bra $skip;
    shl.b32 %r7, %r6, 2;
    add.s32 %r8, %r5, %r7;
    ld.shared.u32 %r9, [%r8];
    ld.shared.u32 %r10, [%r5];
    add.u32 %r10, %r10, %r9;
    st.shared.u32 [%r5], %r10;
$skip:
    shr.u32 %r6, %r6, 1;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra $again;
    bar.sync 0;
    ld.shared.u32 %r11, [partial];
    st.global.u32 [%rd1], %r11;
"""
)


def _ran(
    text: str, x: np.ndarray[Any, Any], block: int = 128, dynamic: int = 0, **options: Any
) -> np.ndarray[Any, Any]:
    out = np.zeros_like(x)
    Module(text, **options).k[1, block, 0, dynamic](out, x)
    return out


@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=str)
def test_a_reduction_in_shared_memory(options: dict[str, Any]) -> None:
    x = np.arange(128, dtype=np.uint32)
    for before, dynamic in (
        (".shared .align 4 .b8 partial[512];", 0),
        (".extern .shared .align 16 .b8 partial[];", 512),
    ):
        assert (_ran(_kernel(_REDUCTION, before=before), x, dynamic=dynamic, **options) == x.sum()).all()


def test_addresses_of_shared_memory_may_be_generic() -> None:
    """A pointer is chosen at run time between shared and global memory."""
    body = (
        _ELEMENT
        + """
    mov.u64 %rd4, buffer;
    cvta.shared.u64 %rd5, %rd4;
    add.s64 %rd6, %rd5, %rd3;
    st.u32 [%rd6], %r1;
    bar.sync 0;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 0;
    selp.b64 %rd7, %rd6, %rd2, %p1;
    ld.u32 %r4, [%rd7];
    isspacep.shared %p2, %rd7;
    selp.u32 %r5, 1000, 0, %p2;
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd1], %r4;
    """
    )
    x = np.arange(100, 164, dtype=np.uint32)
    lanes = np.arange(64)
    wanted = np.where(lanes % 2 == 0, lanes + 1000, x)
    for options in ({}, {"debug": True}):
        assert (
            _ran(_kernel(body, before=".shared .align 4 .b8 buffer[256];"), x, 64, **options) == wanted
        ).all()


_WARP = {
    "shfl.sync.bfly.b32 %r3|%p1, %r2, 5, 31, 0xffffffff;": lambda x, i: x[i ^ 5],
    "shfl.sync.up.b32 %r3|%p1, %r2, 3, 0, 0xffffffff;": lambda x, i: x[i - 3] if i % 32 >= 3 else x[i],
    "shfl.sync.down.b32 %r3|%p1, %r2, 2, 0x181f, 0xffffffff;": lambda x, i: x[i + 2] if i % 8 < 6 else x[i],
    "shfl.sync.idx.b32 %r3|%p1, %r2, 9, 0x101f, 0xffffffff;": lambda x, i: x[i // 16 * 16 + 9],
    "setp.gt.u32 %p2, %r2, 40; vote.sync.ballot.b32 %r3, %p2, 0xffff;":
        lambda x, i: sum(1 << k for k in range(16) if x[i // 32 * 32 + k] > 40),
    "setp.gt.u32 %p2, %r2, 40; vote.sync.any.pred %p3, %p2, 0xffffffff; selp.u32 %r3, 1, 0, %p3;":
        lambda x, i: any(x[i // 32 * 32 + k] > 40 for k in range(32)),
    "setp.lt.u32 %p2, %r2, 999; vote.sync.all.pred %p3, %p2, 0xffffffff; selp.u32 %r3, 1, 0, %p3;": lambda x, i: 1,
    "activemask.b32 %r3;": lambda x, i: 0xFFFFFFFF,
    "and.b32 %r4, %r2, 3; match.any.sync.b32 %r3, %r4, 0xffffffff;":
        lambda x, i: sum(1 << k for k in range(32) if x[i // 32 * 32 + k] & 3 == x[i] & 3),
    "redux.sync.max.u32 %r3, %r2, 0xffffffff;": lambda x, i: max(x[i // 32 * 32:i // 32 * 32 + 32]),
    "redux.sync.add.s32 %r3, %r2, 0xff;": lambda x, i: sum(x[i // 32 * 32:i // 32 * 32 + 8]),
    "mov.u32 %r3, %lanemask_lt;": lambda x, i: (1 << i % 32) - 1,
    "mov.u32 %r3, %warpid;": lambda x, i: i // 32,
    "bar.red.popc.u32 %r3, 0, %p4;": lambda x, i: 0,
}  # fmt: skip


def test_warps_exchange_values() -> None:
    x = np.random.default_rng(3).integers(0, 90, 64, np.uint32)
    lines = ["setp.gt.u32 %p4, %r2, 1000;"]
    for k, text in enumerate(_WARP):
        lines.append(f"{text} st.global.u32 [%rd1+{256 * k}], %r3;")
    out = np.zeros(64 * len(_WARP), np.uint32)
    for options in ({}, {"debug": True}):
        Module(_kernel(_ELEMENT + "\n".join(lines)), **options).k[1, 64](out, x)
        values = [int(v) for v in x]
        for k, (text, means) in enumerate(_WARP.items()):
            got = out[64 * k : 64 * k + 64].tolist()
            assert got == [int(means(values, i)) for i in range(64)], text


_FUNCTIONS = """
.func (.param .b32 result) twice(.param .b32 v, .param .align 4 .b8 pair[8])
{
    .reg .b32 %a<4>;
    ld.param.b32 %a0, [v];
    ld.param.b32 %a1, [pair+4];
    mad.lo.s32 %a2, %a0, 2, %a1;
    st.param.b32 [result], %a2;
    ret;
}
.func (.reg .b32 y) factorial(.reg .b32 n)
{
    .reg .pred %q;
    .reg .b32 %m, %z;
    setp.le.u32 %q, n, 1;
    @%q bra $one;
    sub.u32 %m, n, 1;
    call (%z), factorial, (%m);
    mul.lo.u32 y, %z, n;
    ret;
$one:
    mov.u32 y, 1;
    ret;
}
"""


def test_functions_with_parameters_in_memory_and_recursion() -> None:
    body = (
        _ELEMENT
        + """
    {
        .param .b32 argument;
        .param .align 4 .b8 both[8];
        .param .b32 got;
        st.param.b32 [argument], %r2;
        st.param.b32 [both], 0;
        st.param.b32 [both+4], 7;
        call.uni (got), twice, (argument, both);
        ld.param.b32 %r3, [got];
    }
    and.b32 %r5, %r1, 3;
    call (%r6), factorial, (%r5);
    add.u32 %r3, %r3, %r6;
    st.global.u32 [%rd1], %r3;
    """
    )
    x = np.arange(32, dtype=np.uint32)
    wanted = 2 * x + 7 + np.array([1, 1, 2, 6] * 8, np.uint32)
    assert (_ran(_kernel(body, before=_FUNCTIONS), x, 32) == wanted).all()


def test_predicated_branches_tables_and_loops() -> None:
    """A jump table, a loop that threads leave at different times, and stores under a predicate."""
    body = (
        _ELEMENT
        + """
    and.b32 %r3, %r1, 3;
    mov.u32 %r4, 0;
    table: .branchtargets $a, $b, $c, $a;
    brx.idx %r3, table;
$a: add.u32 %r4, %r4, 10;
    bra.uni $loop;
$b: add.u32 %r4, %r4, 20;
$c: add.u32 %r4, %r4, 40;
$loop:
    add.u32 %r4, %r4, 1;
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra $loop;
    setp.lt.u32 %p2, %r1, 20;
    @!%p2 st.global.u32 [%rd1], %r4;
    @%p2 exit;
    st.global.u32 [%rd1], %r4;
    """
    )
    x = np.arange(1, 33, dtype=np.uint32)
    base = np.array([10, 60, 40, 10] * 8)
    wanted = np.where(np.arange(32) < 20, 0, base + x)
    for options in ({}, {"width": 1}, {"debug": True}):
        assert (_ran(_kernel(body), x, 32, **options) == wanted).all()


def test_variables_of_the_module_live_between_launches() -> None:
    before = """
.global .align 4 .u32 counter = 5;
.const .align 4 .f32 table[4] = {0f3F800000, 2.0, 3.5};
.global .align 8 .u64 place = table;
"""
    body = (
        _ELEMENT
        + """
    mov.u64 %rd4, counter;
    atom.global.add.u32 %r3, [%rd4], 1;
    ld.global.u64 %rd5, [place];
    ld.const.f32 %f1, [table+8];
    ld.f32 %f2, [%rd5+4];
    add.f32 %f1, %f1, %f2;
    cvt.rzi.u32.f32 %r4, %f1;
    st.global.u32 [%rd1], %r4;
    """
    )
    module = Module(_kernel(body, before=before))
    x, out = np.zeros(16, np.uint32), np.zeros(16, np.uint32)
    module.k[1, 16](out, x)
    assert (out == 5).all()
    assert int(module.variable("counter")) == 21
    module.variable("table")[1] = 10
    module.k[1, 16](out, x)
    assert (out == 13).all()
    assert module.variable("table").tolist() == [1, 10, 3.5, 0]


def test_atomics_of_every_kind() -> None:
    ops = {
        "add.u32": (7, lambda v: v.sum() + 7), "max.s32": (-3, lambda v: max(v.max(), -3)),
        "min.u32": (9, lambda v: min(v.min(), 9)), "or.b32": (0, np.bitwise_or.reduce),
        "xor.b32": (0, np.bitwise_xor.reduce), "inc.u32": (0, lambda v: 64 % 12),
    }  # fmt: skip
    lines = []
    for k, name in enumerate(ops):
        value = "11" if name.startswith("inc") else "%r2"
        lines.append(f"red.global.{name} [%rd4+{4 * k}], {value};")
    body = _ELEMENT + "ld.param.u64 %rd4, [out];\n" + "\n".join(lines)
    x = np.random.default_rng(1).integers(1, 1000, 64, np.uint32)
    out = np.array([start for start, _ in ops.values()], np.int32).view(np.uint32)
    Module(_kernel(body)).k[1, 64](out, x)
    for (name, (_, means)), got in zip(ops.items(), out, strict=True):
        assert int(got) == int(means(x.astype(np.int64))) & 0xFFFFFFFF, name


def test_a_stack_and_vectors() -> None:
    body = (
        _ELEMENT
        + """
    .local .align 16 .b8 depot[64];
    mov.u64 %rd4, depot;
    cvta.local.u64 %rd5, %rd4;
    and.b32 %r3, %r1, 3;
    mul.wide.u32 %rd6, %r3, 16;
    add.s64 %rd7, %rd5, %rd6;
    st.local.v4.u32 [%rd7], {%r1, %r2, %r3, 9};
    ld.v2.u32 {%r4, %r5}, [%rd7+8];
    ld.local.v2.u32 {%r6, %r7}, [%rd7];
    add.u32 %r8, %r4, %r5;
    add.u32 %r8, %r8, %r6;
    add.u32 %r8, %r8, %r7;
    st.global.u32 [%rd1], %r8;
    """
    )
    x = np.arange(50, 82, dtype=np.uint32)
    i = np.arange(32)
    for options in ({}, {"debug": True}):
        assert (_ran(_kernel(body), x, 32, **options) == i + x + i % 4 + 9).all()


def test_printf_and_traps(capfd: pytest.CaptureFixture[str]) -> None:
    before = """
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[16] = {118, 61, 37, 100, 32, 37, 46, 49, 102, 10, 0};
"""
    body = (
        _ELEMENT
        + """
    .local .align 8 .b8 room[16];
    mov.u64 %rd4, room;
    cvta.local.u64 %rd5, %rd4;
    st.local.u32 [%rd4], %r2;
    mov.f64 %rd6, 0d4004000000000000;
    st.local.f64 [%rd4+8], %rd6;
    mov.u64 %rd7, text;
    cvta.global.u64 %rd8, %rd7;
    { .param .b64 p0; .param .b64 p1; .param .b32 r0;
      st.param.b64 [p0], %rd8; st.param.b64 [p1], %rd5;
      call.uni (r0), vprintf, (p0, p1); }
    setp.eq.u32 %p1, %r2, 77;
    @%p1 trap;
    st.global.u32 [%rd1], %r2;
    """
    )
    text = _kernel(body.replace("%rd6, 0d", "%fd, 0d").replace(", %rd6", ", %fd"), before=before).replace(
        ".reg .pred", ".reg .f64 %fd;\n    .reg .pred"
    )
    _ran(text, np.array([3], np.uint32), 1)
    assert capfd.readouterr().out == "v=3 2.5\n"
    with pytest.raises(FailedAssertionError, match="trap"):
        _ran(text, np.array([77], np.uint32), 1)


def test_what_cannot_run_is_refused_at_its_line() -> None:
    text = _kernel(
        _ELEMENT + "    bar.arrive 0, 64;\n    bar.red.popc.u32 %r3, 1, %p1;\n    st.global.u32 [%rd1], %r3;"
    )
    with pytest.raises(
        UnsupportedError, match=r"bar\.red\.popc\.u32 votes in a kernel in which threads arrive"
    ) as caught:
        _ran(text, np.zeros(32, np.uint32), 32)
    assert caught.value.span is not None
    assert text.splitlines()[caught.value.span.line - 1].strip() == "bar.red.popc.u32 %r3, 1, %p1;"
    with pytest.raises(UnsupportedError, match=r"tex.1d.v4.f32.s32 is read and printed, and cannot be run"):
        _ran(
            _kernel(_ELEMENT + "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];"),
            np.zeros(32, np.uint32),
            32,
        )
    with pytest.raises(ArgumentError, match="no kernel nothing"):
        Module(_kernel("")).__getitem__("nothing")


def test_the_sanitizer_names_the_line_of_the_ptx() -> None:
    text = _kernel(_ELEMENT + "    st.global.u32 [%rd1+64], %r2;")
    with pytest.raises(SanitizerError) as caught:
        _ran(text, np.zeros(32, np.uint32), 32, debug=True)
    assert caught.value.span is not None
    assert "[%rd1+64]" in text.splitlines()[caught.value.span.line - 1]


def test_addresses_may_be_null_on_some_way() -> None:
    """A pointer that a branch sets, one that is chosen, and shared ones: no access goes through the null."""
    body = (
        _ELEMENT
        + """
    mov.u64 %rd4, 0;
    mov.u32 %r5, 0;
    setp.lt.u32 %p1, %r1, 9;
    @%p1 bra $none;
    add.s64 %rd4, %rd2, 0;
    mov.u32 %r5, room;
    add.u32 %r5, %r5, 4;
$none:
    selp.b64 %rd5, %rd2, 0, %p1;
    setp.eq.u64 %p2, %rd4, 0;
    mov.u32 %r4, 7;
    @%p2 bra $skip;
    ld.global.u32 %r4, [%rd4];
    st.shared.u32 [%r5], 100;
    ld.shared.u32 %r6, [%r5];
    add.u32 %r4, %r4, %r6;
$skip:
    @%p1 ld.global.u32 %r4, [%rd5];
    st.global.u32 [%rd1], %r4;
    """
    )
    x = np.arange(40, 72, dtype=np.uint32)
    wanted = np.where(np.arange(32) < 9, x, x + 100)
    for options in ({}, {"width": 1}):
        assert (_ran(_kernel(body, before=".shared .align 4 .b8 room[8];"), x, 32, **options) == wanted).all()


@pytest.mark.parametrize("debug", [False, True])
def test_arrays_that_a_kernel_does_not_use(debug: bool) -> None:
    """The source has them as parameters, and PTX does not say that they are addresses."""
    store = "    ld.param.u64 %rd1, [out];\n    st.global.u32 [%rd1], 7;\n"
    parameters = ".param .u64 out, .param .u64 left_out, .param .u32 count"
    kernel = Module(_kernel(store, parameters), debug=debug).k
    for given in (np.ones(4), np.ones((4, 4))[:, 1], cuda.to_device(np.ones(3)), None, 5, np.int64(-1)):
        out = np.zeros(1, np.uint32)
        for _ in range(2):
            kernel[1, 1](out, given, 3)
        assert out[0] == 7
    with pytest.raises(ArgumentError, match="left_out"):
        kernel[1, 1](np.zeros(1, np.uint32), "text", 3)
    with pytest.raises(ArgumentError, match="count"):
        kernel[1, 1](np.zeros(1, np.uint32), 1, np.ones(4))


def test_a_required_block_is_required() -> None:
    text = _kernel(_ELEMENT + "bar.sync 0, 32; st.global.u32 [%rd1], %r2;").replace(
        ")\n{", ")\n.reqntid 32\n{", 1
    )
    x = np.arange(32, dtype=np.uint32)
    assert (_ran(text, x, 32) == x).all()
    with pytest.raises(LaunchError, match=r"\.reqntid \(32, 1, 1\), and blocks of \(16, 1, 1\)"):
        _ran(text, x, 16)


@pytest.mark.parametrize("count", ["64", "%r3"])
def test_a_barrier_with_a_number_of_threads_waits_for_the_block(count: str) -> None:
    """Threads hand their neighbour's numbers on; a block of 40 threads has two warps as well as one of 64."""
    body = (
        _ELEMENT
        + f"""
    mov.u32 %r3, 64;
    mov.u32 %r4, room;
    shl.b32 %r5, %r1, 2;
    add.u32 %r4, %r4, %r5;
    st.shared.u32 [%r4], %r2;
    bar.sync 3, {count};
    xor.b32 %r5, %r5, 4;
    mov.u32 %r4, room;
    add.u32 %r4, %r4, %r5;
    ld.shared.u32 %r6, [%r4];
    st.global.u32 [%rd1], %r6;
    """
    )
    text = _kernel(body, before=".shared .align 4 .b8 room[512];")
    for size in (64, 40):
        x = np.arange(size, dtype=np.uint32)
        assert (_ran(text, x.copy(), size) == x ^ 1).all()
    # Two of three warps go on, and the third waits for ever.
    with pytest.raises(BarrierDivergence, match="wait for others that do not come"):
        _ran(text, np.arange(96, dtype=np.uint32), 96)
    votes = text.replace("bar.sync 3", "bar.red.popc.u32 %r7, 3, 64, %p1;\n bar.sync 3")
    with pytest.raises(FailedAssertionError, match=r"another number of threads .* in which threads vote"):
        _ran(votes, np.arange(96, dtype=np.uint32), 96)
    if count == "64":
        required = votes.replace(")\n{", ")\n.reqntid 96\n{", 1)
        with pytest.raises(
            UnsupportedError, match=r"bar\.red\.popc\.u32 waits for some threads of the block"
        ):
            _ran(required, np.zeros(96, np.uint32), 96)


_STAGES = (
    _ELEMENT
    + """
    mov.u32 %r3, room;
    and.b32 %r4, %r1, 31;
    shl.b32 %r4, %r4, 2;
    add.u32 %r3, %r3, %r4;
    shr.u32 %r5, %r1, 5;
    mov.u32 %r6, 0;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra consumer;
producer:
    mad.lo.u32 %r7, %r6, 10, %r2;
    bar.sync 1, 64;
    st.shared.u32 [%r3], %r7;
    bar.arrive 2, 64;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 5;
    @%p2 bra producer;
    mov.u32 %r8, 7;
    bra done;
consumer:
    mov.u32 %r8, 0;
again:
    bar.arrive 1, 64;
    bar.sync 2, 64;
    ld.shared.u32 %r7, [%r3];
    mad.lo.u32 %r8, %r8, 3, %r7;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 5;
    @%p2 bra again;
done:
    bar.sync 0;
    st.global.u32 [%rd1], %r8;
    """
)


@pytest.mark.parametrize("debug", [False, True])
def test_a_warp_that_produces_and_one_that_consumes(debug: bool) -> None:
    """Each waits for the other alone, over and over, at barriers at which the other one only arrives."""
    x = np.arange(64, dtype=np.uint32) * 3
    wanted = np.full(64, 7, np.uint32)
    wanted[32:] = 0
    for k in range(5):
        wanted[32:] = wanted[32:] * 3 + x[:32] + 10 * k
    text = _kernel(_STAGES, before=".shared .align 4 .b8 room[128];")
    assert (_ran(text, x.copy(), 64, debug=debug) == wanted).all()


@pytest.mark.parametrize("debug", [False, True])
def test_halves_of_a_block_meet_by_themselves(debug: bool) -> None:
    """Each half has a barrier of its own, which it passes as often as its number says, and all meet behind."""
    body = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %ntid.y;
    mad.lo.u32 %r2, %r3, %r5, %r2;
    mad.lo.u32 %r1, %r2, %r4, %r1;
    shr.u32 %r6, %r1, 6;
    shl.b32 %r7, %r1, 2;
    mov.u32 %r8, room;
    add.u32 %r8, %r8, %r7;
    st.shared.u32 [%r8], %r1;
    mov.u32 %r14, %ntid.z;
    mul.lo.u32 %r14, %r14, %r4;
    mul.lo.u32 %r14, %r14, %r5;
    shl.b32 %r14, %r14, 2;
    xor.b32 %r9, %r7, 128;
    setp.ge.u32 %p2, %r9, %r14;
    @%p2 mov.u32 %r9, %r7;
    mov.u32 %r10, room;
    add.u32 %r9, %r9, %r10;
    add.u32 %r11, %r6, 2;
    add.u32 %r13, %r6, 4;
turn:
    barrier.sync %r13, 64;
    ld.shared.u32 %r12, [%r9];
    barrier.sync %r13, 64;
    add.u32 %r12, %r12, 1;
    st.shared.u32 [%r8], %r12;
    sub.u32 %r11, %r11, 1;
    setp.ne.u32 %p1, %r11, 0;
    @%p1 bra turn;
    bar.sync 0;
    sub.u32 %r9, %r14, 4;
    sub.u32 %r9, %r9, %r7;
    add.u32 %r9, %r9, %r10;
    ld.shared.u32 %r12, [%r9];
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1], %r12;
    """
    text = _kernel(body, before=".shared .align 4 .b8 room[512];")
    kernel = Module(text, debug=debug).k
    for shape in ((128, 1, 1), (16, 4, 2), (40, 3, 1)):
        threads = int(np.prod(shape))
        held = np.arange(threads)
        partner = np.where(held ^ 32 < threads, held ^ 32, held)
        for half in range(2):
            own = np.arange(64 * half, min(64 * half + 64, threads))
            for _ in range(half + 2):
                held[own] = held[partner[own]] + 1
        out = np.zeros(threads, np.uint32)
        kernel[1, shape](out, 0)
        assert (out == held[::-1]).all()


@pytest.mark.parametrize("seed", range(4))
def test_teams_of_warps_at_random(seed: int) -> None:
    """Each team takes turns of its own number; at the same places in between all warps of the block meet."""
    draw = random.Random(seed)
    warps = draw.randint(3, 6)
    teams: list[range] = []
    while (first := teams[-1].stop if teams else 0) < warps:
        teams.append(range(first, min(first + draw.randint(1, 3), warps)))
    rounds = [[draw.randint(0, 3) for _ in teams] for _ in range(3)]
    lines = [_ELEMENT, "mov.u32 %r3, room; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4; shr.u32 %r5, %r1, 5;"]
    held = np.arange(warps * 32, dtype=np.uint32)
    for k, turns in enumerate(rounds):
        for n, (team, count) in enumerate(zip(teams, turns, strict=True)):
            size = 32 * len(team)
            mine = np.arange(32 * team.start, 32 * team.stop)
            from_whom = 32 * team.start + (mine - 32 * team.start + 32) % size
            lines += [f"setp.lt.u32 %p1, %r5, {team.start}; setp.ge.u32 %p2, %r5, {team.stop};"]
            lines += [f"or.pred %p1, %p1, %p2; @%p1 bra over_{k}_{n};"]
            for _ in range(count):
                held[mine] = held[from_whom] * 5 + np.uint32(n)
                lines += [f"st.shared.u32 [%r3], %r2; bar.sync {n + 1}, {size};"]
                lines += [
                    f"sub.u32 %r6, %r1, {32 * team.start}; add.u32 %r6, %r6, 32; rem.u32 %r6, %r6, {size};"
                ]
                lines += [f"add.u32 %r6, %r6, {32 * team.start}; shl.b32 %r6, %r6, 2; mov.u32 %r7, room;"]
                lines += ["add.u32 %r6, %r6, %r7; ld.shared.u32 %r7, [%r6];"]
                lines += [f"mad.lo.u32 %r2, %r7, 5, {n}; bar.sync {n + 1}, {size};"]
            lines += [f"over_{k}_{n}:"]
        held = held[::-1] + np.uint32(1)
        lines += ["bar.sync 0; st.shared.u32 [%r3], %r2; bar.sync 0;", f"mov.u32 %r7, {32 * warps - 1};"]
        lines += ["sub.u32 %r7, %r7, %r1; shl.b32 %r7, %r7, 2; mov.u32 %r6, room; add.u32 %r6, %r6, %r7;"]
        lines += ["ld.shared.u32 %r2, [%r6]; add.u32 %r2, %r2, 1; bar.sync 0;"]
    text = _kernel(
        "\n".join([*lines, "st.global.u32 [%rd1], %r2;"]), before=".shared .align 4 .b8 room[768];"
    )
    for debug in (True, False):
        x = np.arange(32 * warps, dtype=np.uint32)
        assert (_ran(text, x, 32 * warps, debug=debug) == held).all()


def test_numbers_that_no_barrier_has() -> None:
    for text, match in (
        ("bar.sync 16, 64;", "0 to 15"),
        ("bar.arrive 1, 40;", "whole warps"),
        ("bar.sync 1, %r6;", "whole warps"),
    ):
        with pytest.raises(FailedAssertionError, match=match):
            _ran(
                _kernel(_ELEMENT + f"mov.u32 %r6, 0; {text} st.global.u32 [%rd1], %r6;"),
                np.zeros(64, np.uint32),
                64,
            )


def test_what_breaks_a_rule_of_ptx_is_refused() -> None:
    with pytest.raises(PtxError, match="f1"):
        Module(_kernel("    add.s32 %r1, %r2, %f1;"))


def test_an_offset_that_a_later_address_shares() -> None:
    """The later address is met first."""
    text = _kernel(
        _ELEMENT
        + """
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd4, %rd3;
    st.global.b32 [%rd5], %r2;
    st.global.b32 [%rd4], %r1;
"""
    )
    x, out = np.arange(100, 164, dtype=np.uint32), np.zeros(256, np.uint32)
    Module(text).k[1, 1](out, x)
    assert out[0] == 0
    Module(text).k[1, 2](out, x)
    assert out[:4].tolist() == [0, 0, 1, 101]


_TWO_FUNCTIONS = """
.func (.param .b32 r) twice(.param .b32 a)
{
    .reg .b32 %a;
    ld.param.b32 %a, [a];
    add.u32 %a, %a, %a;
    st.param.b32 [r], %a;
    ret;
}
.func (.param .b32 r) next(.param .b32 a)
{
    .reg .b32 %a;
    ld.param.b32 %a, [a];
    add.u32 %a, %a, 1;
    st.param.b32 [r], %a;
    ret;
}
.global .align 8 .u64 table[2] = {twice, next};
"""

_CALL_BY_ADDRESS = """
    {
    .param .b32 p0; .param .b32 q0;
    st.param.b32 [p0], %r2;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q0), %rd9, (p0), prototype;
    ld.param.b32 %r3, [q0];
    }
    st.global.b32 [%rd1], %r3;
"""


@pytest.mark.spread
@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=str)
@pytest.mark.parametrize("in_memory", [False, True])
def test_calls_by_addresses_that_differ_among_threads(options: dict[str, Any], in_memory: bool) -> None:
    chosen = (
        "    mul.wide.u32 %rd8, %r5, 8; mov.u64 %rd7, table; add.u64 %rd7, %rd7, %rd8; ld.global.u64 %rd9, [%rd7];"
        if in_memory
        else "    mov.u64 %rd7, twice; mov.u64 %rd8, next; setp.eq.u32 %p1, %r5, 1; selp.u64 %rd9, %rd8, %rd7, %p1;"
    )
    text = _kernel(_ELEMENT + "    and.b32 %r5, %r1, 1;\n" + chosen + _CALL_BY_ADDRESS, before=_TWO_FUNCTIONS)
    x = np.arange(100, 164, dtype=np.uint32)
    np.testing.assert_array_equal(_ran(text, x, 64, **options), np.where(np.arange(64) % 2, x + 1, 2 * x))


def test_an_address_where_no_function_is_is_a_trap() -> None:
    text = _kernel(_ELEMENT + "    cvt.u64.u32 %rd9, %r2;" + _CALL_BY_ADDRESS, before=_TWO_FUNCTIONS)
    with pytest.raises(FailedAssertionError):
        _ran(text, np.arange(100, 164, dtype=np.uint32), 64)


_HEAP = """
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 address);
"""


@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=str)
def test_memory_that_threads_allocate(options: dict[str, Any]) -> None:
    text = _kernel(
        _ELEMENT
        + """
    and.b32 %r3, %r1, 3;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra $none;
    mul.wide.u32 %rd8, %r3, 4;
    { .param .b64 p0; .param .b64 q0; st.param.b64 [p0], %rd8;
      call.uni (q0), malloc, (p0); ld.param.b64 %rd9, [q0]; }
    add.s64 %rd10, %rd9, %rd8;
    st.u32 [%rd10+-4], %r2;
    ld.u32 %r4, [%rd10+-4];
    add.u32 %r2, %r2, %r4;
    { .param .b64 p0; st.param.b64 [p0], %rd9; call.uni free, (p0); }
$none:
    st.global.u32 [%rd1], %r2;
""",
        before=_HEAP,
    )
    x = np.arange(100, 164, dtype=np.uint32)
    np.testing.assert_array_equal(_ran(text, x, 64, **options), np.where(np.arange(64) % 4, 2 * x, x))


def test_what_malloc_did_not_give_is_not_freed() -> None:
    text = _kernel(
        _ELEMENT
        + "    st.global.u32 [%rd1], %r2; { .param .b64 p0; st.param.b64 [p0], %rd2; call.uni free, (p0); }",
        before=_HEAP,
    )
    with pytest.raises(SanitizerError, match="free"):
        _ran(text, np.arange(64, dtype=np.uint32), 64, debug=True)


@pytest.mark.spread
@pytest.mark.parametrize("options", [{}, {"width": 1}, {"width": 8}], ids=str)
@pytest.mark.parametrize("volatile", [True, False])
def test_threads_of_a_warp_that_rely_on_lock_step(options: dict[str, Any], volatile: bool) -> None:
    """An inclusive scan of each warp as programs for old GPUs have it, without a barrier."""
    steps = "".join(
        f"""
    ld.volatile.shared.u32 %r6, [%r5+{128 - 4 * distance}];
    add.u32 %r2, %r2, %r6;
    st.volatile.shared.u32 [%r5+128], %r2;
"""
        for distance in (1, 2, 4, 8, 16)
    )
    text = _kernel(
        f"""
    .shared .align 4 .b8 memory[512];
{_ELEMENT}
    and.b32 %r3, %r1, 31;
    shr.u32 %r4, %r1, 5;
    mad.lo.u32 %r3, %r4, 64, %r3;
    mov.u32 %r5, memory;
    mad.lo.u32 %r5, %r3, 4, %r5;
    st.volatile.shared.u32 [%r5], 0;
    st.volatile.shared.u32 [%r5+128], %r2;
{steps}
    st.global.u32 [%rd1], %r2;
"""
    )
    if not volatile:
        text, options = text.replace(".volatile", ""), {**options, "lock_step": True}
    x = np.arange(64, dtype=np.uint32) % 7
    wanted = np.concatenate([np.cumsum(x[:32]), np.cumsum(x[32:])])
    np.testing.assert_array_equal(_ran(text, x, 64, **options), wanted)


@pytest.mark.parametrize("options", [{}, {"debug": True}], ids=str)
def test_arrays_with_strides(options: dict[str, Any]) -> None:
    """The kernel has the strides; it is weft's own PTX of a kernel in Python."""

    @cuda.jit
    def fill(x, out):  # type: ignore[no-untyped-def]
        i, j = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = 2 * x[i, j]

    kernel = Module(fill.inspect_ptx("void(float32[:, :], float32[:, :])"), **options)["fill"]
    whole, out = np.arange(96, dtype=np.float32).reshape(8, 12), np.zeros((4, 8), np.float32)
    x = whole[::2, 1::3]

    def passed(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return array, *array.shape, *array.strides

    kernel[(1, 1), (8, 8)](*passed(x), *passed(out[:, ::2]))
    np.testing.assert_array_equal(out[:, ::2], 2 * x)
    assert not out[:, 1::2].any()
    with pytest.raises(ArgumentError, match="C-contiguous"):
        kernel[(1, 1), (8, 8)](*passed(x[::-1]), *passed(out[:, ::2]))


_INDEXED = """
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    ld.param.u32 %r1, [p];
    ld.param.u32 %r2, [q];
    mov.u32 %r3, %tid.x;
    add.s32 %r4, %r1, %r3;
    add.s32 %r5, %r4, %r2;
{place}
    ld.global.b32 %r6, [%rd2];
    mul.wide.u32 %rd4, %r3, 4;
    add.s64 %rd1, %rd1, %rd4;
    st.global.b32 [%rd1], %r6;
"""

_PLACES = {
    "signed": "mul.wide.s32 %rd3, %r5, 4; add.s64 %rd2, %rd2, %rd3;",
    "unsigned": "mul.wide.u32 %rd3, %r5, 4; add.s64 %rd2, %rd2, %rd3;",
    # Half the threads have wrapped around: from both sides 8 GiB lead to the 64 elements before or behind element 64.
    "brought back": """
    mul.wide.s32 %rd3, %r5, 4;
    setp.lt.s32 %p1, %r5, 0;
    selp.b64 %rd5, 8589934592, -8589934592, %p1;
    add.s64 %rd3, %rd3, %rd5;
    add.s64 %rd2, %rd2, %rd3;
    add.s64 %rd2, %rd2, 256;
""",
    # Only the second iteration, 8 GiB away from the first one, reads.
    "in a loop": """
    mul.wide.s32 %rd3, %r5, 4;
    setp.lt.s32 %p1, %r5, 0;
    selp.b64 %rd5, 8589934592, -8589934592, %p1;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r7, 0;
$again:
    setp.eq.u32 %p2, %r7, 0;
    @%p2 bra $skip;
    ld.global.b32 %r8, [%rd2+256];
$skip:
    add.s64 %rd2, %rd2, %rd5;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p3, %r7, 2;
    @%p3 bra $again;
    sub.s64 %rd2, %rd2, %rd5;
    add.s64 %rd2, %rd2, 256;
""",
    "before the pointer": "add.s64 %rd2, %rd2, 400; mul.wide.s32 %rd3, %r5, 4; add.s64 %rd2, %rd2, %rd3;",
}


@pytest.mark.parametrize(
    ("place", "p", "q", "first"),
    [
        ("signed", 5, 8, 13),
        ("signed", -(1 << 31), -(1 << 31), 0),
        ("signed", (1 << 31) - 1, -(1 << 31) + 8, 7),
        ("signed", -(1 << 31) + 5, -(1 << 31) + 4, 9),
        ("unsigned", -20, 25, 5),
        ("unsigned", -(1 << 31) + 5, -(1 << 31) + 4, 9),
        ("brought back", (1 << 31) - 1, -63, 0),
        ("in a loop", (1 << 31) - 1, -63, 0),
        ("before the pointer", -100, 3, 3),
        ("before the pointer", -(1 << 31), (1 << 31) - 90, 10),
    ],
)
def test_sums_of_indices_wrap_around(place: str, p: int, q: int, first: int) -> None:
    """An index is a sum of 32 bits, whatever its parts are, and whatever it is on the way to an access."""
    text = _kernel(
        _INDEXED.format(place=_PLACES[place]),
        ".param .u64 out, .param .u64 x, .param .u32 p, .param .u32 q",
    )
    x, out = np.arange(1000, 1512, dtype=np.int32), np.zeros(128, np.int32)
    Module(text).k[1, 128](out, x, p, q)
    assert out.tolist() == x[first : first + 128].tolist()


def test_what_is_read_from_a_lane_that_is_not_there_is_0() -> None:
    """The last step of reductions of NVIDIA's samples: the first lanes of a warp add what all its lanes have."""
    step = "    shfl.sync.down.b32 %r3, %r2, {0}, 31, 0xff;\n    add.u32 %r2, %r2, %r3;\n"
    text = _kernel(
        _ELEMENT
        + "    setp.gt.u32 %p1, %r1, 7;\n    @%p1 bra $done;\n"
        + "".join(step.format(n) for n in (16, 8, 4, 2, 1))
        + "$done:\n    st.global.u32 [%rd1], %r2;\n"
    )
    x = np.arange(100, 132, dtype=np.uint32)
    wanted = x.copy()
    for n in (16, 8, 4, 2, 1):
        wanted[:8] += np.concatenate((wanted[:8], np.zeros(24, np.uint32)))[n : n + 8]
    assert wanted[0] == sum(range(100, 108))
    for options in ({}, {"width": 1}, {"debug": True}):
        assert (_ran(text, x.copy(), 32, **options) == wanted).all()
