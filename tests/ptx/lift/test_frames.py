"""Kernels of compilers that do not optimize: all that a thread has is in memory, pointers among it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.cuda.ptx.module import Module

HEAD = ".version 7.5\n.target sm_80\n.address_size 64\n"

KEPT = (
    HEAD
    + """
.func (.param .b64 made) element(.param .b64 base, .param .b32 number)
{
    .local .align 8 .b8 frame[16];
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    mov.u64 %rd1, frame;
    cvta.local.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [base];
    ld.param.u32 %r1, [number];
    st.u64 [%rd2+0], %rd3;
    st.u32 [%rd2+8], %r1;
    ld.u64 %rd4, [%rd2+0];
    ld.s32 %rd5, [%rd2+8];
    shl.b64 %rd6, %rd5, 2;
    add.s64 %rd7, %rd4, %rd6;
    st.param.b64 [made], %rd7;
    ret;
}
.visible .entry k(.param .u64 out, .param .u64 x, .param .u64 more)
{
    .local .align 16 .b8 frame[48];
    .reg .b32 %r<16>;
    .reg .b64 %rd<24>;
    mov.u64 %rd1, frame;
    cvta.local.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [out];
    ld.param.u64 %rd4, [x];
    ld.param.u64 %rd20, [more];
    st.u64 [%rd2+0], %rd3;
    add.u64 %rd5, %rd2, 16;
    or.b64 %rd6, %rd5, 8;
    st.u64 [%rd6], %rd4;
    st.u64 [%rd2+32], %rd20;
    mov.u32 %r1, %tid.x;
    st.u32 [%rd2+16], %r1;
    {
    .param .b64 base;
    .param .b32 number;
    .param .b64 made;
    ld.u64 %rd7, [%rd2+24];
    st.param.b64 [base], %rd7;
    st.param.b32 [number], %r1;
    call.uni (made), element, (base, number);
    ld.param.b64 %rd8, [made];
    }
    ld.u32 %r2, [%rd8];
    ld.u32 %r3, [%rd2+32];
    add.s32 %r2, %r2, %r3;
    ld.u64 %rd9, [%rd2+0];
    mul.wide.u32 %rd10, %r1, 4;
    add.s64 %rd11, %rd9, %rd10;
    st.u32 [%rd11], %r2;
    ret;
}
"""
)


def _program(module: Module) -> str:
    return module.k._program.kernel("k").text


@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=["lanes", "one", "debug"])
def test_what_a_thread_keeps_in_memory_are_values(options: dict[str, Any]) -> None:
    """Parameters, what functions are passed, and what is reached by a sum that is written with ``or``."""
    out, x = np.zeros(40, np.int32), np.arange(40, dtype=np.int32) * 3
    module = Module(KEPT, **options)
    assert "alloca" not in _program(module) and "inttoptr" not in _program(module)
    module.k[1, 40](out, x, 7)
    assert np.array_equal(out, x + 7)


ESCAPED = (
    HEAD
    + """
.visible .entry k(.param .u64 out, .param .u64 x, .param .u64 y)
{
    .local .align 8 .b8 frame[16];
    .reg .pred %p;
    .reg .b32 %r<16>;
    .reg .b64 %rd<24>;
    mov.u64 %rd1, frame;
    cvta.local.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [x];
    ld.param.u64 %rd4, [y];
    ld.param.u64 %rd5, [out];
    st.u64 [%rd2], %rd3;
    st.u64 [%rd2+8], %rd4;
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 1;
    mul.wide.u32 %rd6, %r2, 8;
    add.s64 %rd7, %rd2, %rd6;
    ld.u64 %rd8, [%rd7];
    mul.wide.u32 %rd9, %r1, 4;
    add.s64 %rd10, %rd8, %rd9;
    ld.u32 %r3, [%rd10];
    st.u32 [%rd10], %r1;
    add.s64 %rd11, %rd5, %rd9;
    st.u32 [%rd11], %r3;
    ret;
}
"""
)


@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=["lanes", "one", "debug"])
def test_arrays_whose_addresses_are_in_memory(options: dict[str, Any]) -> None:
    """Nothing in the kernel says that these parameters are addresses, and callers pass what the source has."""
    ids = np.arange(40, dtype=np.int32)
    kernel = Module(ESCAPED, **options).k[1, 40]
    for _ in range(3):
        out, x, y = np.zeros(40, np.int32), ids * 3, ids * -5
        kernel(out, x, y)
        assert np.array_equal(out, np.where(ids % 2, ids * -5, ids * 3))
        assert np.array_equal(x, np.where(ids % 2, ids * 3, ids)) and np.array_equal(
            y, np.where(ids % 2, ids, ids * -5)
        )


def test_arrays_in_memory_may_be_numbers_null_or_the_same() -> None:
    ids = np.arange(40, dtype=np.int32)
    kernel = Module(ESCAPED).k[1, 40]
    out, x = np.zeros(40, np.int32), ids * 3
    kernel(out, x, x.ctypes.data)
    assert np.array_equal(out, ids * 3) and np.array_equal(x, ids)
    out, x = ids * 3, ids * 3
    kernel(x, x, x)
    assert np.array_equal(x, ids * 3)
    kernel = Module(ESCAPED).k[1, 1]
    kernel(out, x, None)
    assert out[0] == 0


def test_a_read_only_array_is_refused_there() -> None:
    x = np.zeros(40, np.int32)
    x.flags.writeable = False
    with pytest.raises(Exception, match="read-only"):
        Module(ESCAPED).k[1, 40](np.zeros(40, np.int32), x, x.copy())
