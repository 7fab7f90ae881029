"""Which parameter an address comes from, where the length of a row is added to it, too."""

import numpy as np

from weft.ptx import Module

NEIGHBOURS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 length, .param .u64 b)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [length];
    ld.param.u64 %rd3, [b];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd4, %r1;
    mul.lo.s64 %rd5, %rd2, 2;
    add.s64 %rd5, %rd5, %rd4;
    sub.s64 %rd6, %rd5, %rd2;
    cvta.to.global.u64 %rd7, %rd1;
    add.s64 %rd8, %rd7, %rd6;
    add.s64 %rd9, %rd8, %rd2;
    ld.global.u8 %r2, [%rd9];
    add.s64 %rd10, %rd9, %rd2;
    ld.global.u8 %r3, [%rd10];
    add.s32 %r2, %r2, %r3;
    add.s64 %rd11, %rd3, %rd4;
    st.global.u8 [%rd11], %r2;
    ret;
}
"""


def test_the_length_of_a_row_is_a_number() -> None:
    """It is added to the address twice, as nvcc goes from row to row, and multiplied elsewhere."""
    rows = np.arange(40, dtype=np.uint8).reshape(4, 10)
    out = np.zeros(10, np.uint8)
    Module(NEIGHBOURS).k[1, 10](rows, 10, out)
    assert np.array_equal(out, rows[2] + rows[3])
