"""Asynchronous copies into shared memory: whole, in part and not at all; what cannot be run is refused."""

import numpy as np
import pytest

from weft.cuda.ptx.module import Module
from weft.errors import UnsupportedError

SOURCE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %d<8>;
    .shared .align 16 .b8 s[2048];
    ld.param.u64 %d1, [from];
    ld.param.u64 %d2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d3, %r1, 16;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    shl.b32 %r2, %r1, 4;
    mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2;
    rem.u32 %r4, %r1, 17;
    and.b32 %r5, %r1, 1;
    setp.eq.u32 %p1, %r5, 1;
    COPIES
    cp.async.commit_group;
    cp.async.wait_group 0;
    cp.async.wait_all;
    bar.sync 0;
    mov.u32 %r6, s;
    sub.u32 %r11, 1008, %r2;
    add.u32 %r6, %r6, %r11;
    ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];
    st.global.v4.u32 [%d5], {%r7, %r8, %r9, %r10};
    ret;
}
"""


@pytest.mark.parametrize("options", [{}, {"width": 1}, {"debug": True}], ids=str)
@pytest.mark.parametrize(
    ("copies", "kept"),
    [
        ("cp.async.cg.shared.global [%r3], [%d4], 16;", lambda t: 16),
        ("cp.async.ca.shared.global [%r3], [%d4], 16, %r4;", lambda t: t % 17),
        ("cp.async.ca.shared.global [%r3], [%d4], 16, %p1;", lambda t: 0 if t % 2 else 16),
        (
            "cp.async.ca.shared.global.L2::128B [%r3], [%d4], 4; cp.async.ca.shared.global [%r3+4], [%d4+4], 4;"
            "cp.async.ca.shared.global [%r3+8], [%d4+8], 8;",
            lambda t: 16,
        ),
    ],
)
def test_what_is_not_copied_is_zero(copies, kept, options):
    given = np.random.default_rng(2).integers(0, 256, (64, 16)).astype(np.uint8)
    out = np.ones_like(given)
    Module(SOURCE.replace("COPIES", copies), **options).k[1, 64](given, out)
    wanted = np.array([np.where(np.arange(16) < kept(t), given[t], 0) for t in range(64)])
    assert np.array_equal(out, wanted[::-1])


def test_copies_that_barriers_count_are_refused():
    source = SOURCE.replace("COPIES", "cp.async.mbarrier.arrive.b64 [%r3];")
    with pytest.raises(UnsupportedError, match=r":23:5: cp\.async\.mbarrier"):
        Module(source).k[1, 64](np.zeros(1024, np.uint8), np.zeros(1024, np.uint8))
