"""Votes of a part of a warp: each thread's mask names its own tile, in kernels of all doors that have masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from frontend.kernels import text_of
from weft import cuda, ptx

C_SOURCE = """
__global__ void votes(const int *x, int *o) {
  const int t = threadIdx.x, p = x[t];
  const unsigned mask = 0xffu << (t & 24);
  o[4 * t] = __any_sync(mask, p & 1);
  o[4 * t + 1] = __all_sync(mask, p & 2);
  o[4 * t + 2] = __ballot_sync(mask, p & 4);
  o[4 * t + 3] = __uni_sync(mask, p & 8) + 2 * __any_sync(~0u, p & 1) + 4 * __all_sync(~0u, p & 2);
}"""

PTX_SOURCE = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry votes(.param .u64 x, .param .u64 o)
{
    .reg .pred %p<10>;
    .reg .b32 %r<14>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [o];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d3, %r1, 4;
    add.s64 %d1, %d1, %d3;
    mul.wide.u32 %d3, %r1, 16;
    add.s64 %d2, %d2, %d3;
    ld.global.u32 %r2, [%d1];
    and.b32 %r3, %r1, 24;
    shl.b32 %r4, 255, %r3;
    and.b32 %r5, %r2, 1;
    setp.ne.u32 %p1, %r5, 0;
    and.b32 %r5, %r2, 2;
    setp.ne.u32 %p2, %r5, 0;
    and.b32 %r5, %r2, 4;
    setp.ne.u32 %p3, %r5, 0;
    and.b32 %r5, %r2, 8;
    setp.ne.u32 %p4, %r5, 0;
    vote.sync.any.pred %p5, %p1, %r4;
    vote.sync.all.pred %p6, %p2, %r4;
    vote.sync.ballot.b32 %r6, %p3, %r4;
    vote.sync.uni.pred %p7, %p4, %r4;
    vote.sync.any.pred %p8, %p1, -1;
    vote.sync.all.pred %p9, %p2, 0xffffffff;
    selp.u32 %r7, 1, 0, %p5;
    selp.u32 %r8, 1, 0, %p6;
    selp.u32 %r9, 1, 0, %p7;
    selp.u32 %r10, 2, 0, %p8;
    selp.u32 %r11, 4, 0, %p9;
    add.u32 %r9, %r9, %r10;
    add.u32 %r9, %r9, %r11;
    st.global.v4.u32 [%d2], {%r7, %r8, %r6, %r9};
    ret;
}
"""


def _python(**options: Any) -> Callable[..., None]:
    @cuda.jit(**options)
    def votes(x, o):
        t = cuda.threadIdx.x
        p = x[t]
        mask = np.uint32(0xFF) << np.uint32(t & 24)
        o[t, 0] = cuda.any_sync(mask, p & 1)
        o[t, 1] = cuda.all_sync(mask, p & 2)
        o[t, 2] = np.int32(cuda.ballot_sync(mask, p & 4))
        o[t, 3] = (
            cuda.eq_sync(mask, p & 8)
            + 2 * cuda.any_sync(0xFFFFFFFF, p & 1)
            + 4 * cuda.all_sync(0xFFFFFFFF, p & 2)
        )

    return votes[1, 64]


def _doors(**options: Any) -> dict[str, Callable[..., None]]:
    found = {
        "python": _python(**options),
        "ptx": ptx.Module(PTX_SOURCE, **options)["votes"][1, 64],
    }
    pytest.importorskip("ziglang")
    return {**found, "c": cuda.Module(C_SOURCE, **options)["votes"][1, 64]}


@pytest.mark.parametrize("options", [{}, {"width": 8}, {"width": 1}, {"debug": True}], ids=str)
def test_each_tile_votes_for_itself(options):
    x = np.random.default_rng(5).choice([0, 2, 3, 4, 8, 10, 31, 15], 64).astype(np.int32)
    x[8:16], x[16:24], x[32:40] = 2, x[16:24] & ~9, x[32:40] | 10
    x[:32] &= ~1
    tiles, warps = x.reshape(8, 8), x.reshape(2, 32)
    wanted = np.zeros((8, 8, 4), np.int64)
    wanted[..., 0] = np.any(tiles & 1, axis=1, keepdims=True)
    wanted[..., 1] = np.all(tiles & 2, axis=1, keepdims=True)
    ballots = ((tiles & 4 != 0) << np.arange(8)).sum(1) << np.arange(8) % 4 * 8
    wanted[..., 2] = ballots[:, None]
    alike = (tiles & 8).all(1) | ~(tiles & 8).any(1)
    of_warps = 2 * (warps & 1).any(1) + 4 * (warps & 2).all(1)
    wanted[..., 3] = (alike + of_warps.repeat(4))[:, None]
    for door, kernel in _doors(**options).items():
        out = np.zeros((64, 4), np.int32)
        kernel(x, out)
        assert np.array_equal(out, wanted.reshape(64, 4).astype(np.int32)), door


def at_once(x, out):
    i = cuda.grid(1)
    if i % 3 != 0:
        out[i, 0] = cuda.any_sync(cuda.activemask(), x[i] > 90)
        out[i, 1] = cuda.all_sync(cuda.activemask(), x[i] < 90)


def kept(x, out):
    i = cuda.grid(1)
    everyone = cuda.activemask()
    if i % 3 != 0:
        out[i, 0] = cuda.any_sync(everyone, x[i] > 90)
        out[i, 1] = cuda.all_sync(everyone, x[i] < 90)


@pytest.mark.parametrize(("function", "plain"), [(at_once, True), (kept, False)])
def test_masks_of_those_that_are_active_ask_nobody_else(function, plain: bool) -> None:
    x = np.random.default_rng(3).integers(0, 96, 96).astype(np.int32)
    out = np.full((96, 2), -1, np.int32)
    kernel = cuda.jit(function)
    kernel[3, 32](x, out)
    for warp in range(3):
        here = np.arange(32 * warp, 32 * warp + 32)
        here = here[here % 3 != 0]
        assert (out[here, 0] == (x[here] > 90).any()).all()
        assert (out[here, 1] == (x[here] < 90).all()).all()
    assert ("weft.ballot" not in text_of(function, x, out)) == plain
