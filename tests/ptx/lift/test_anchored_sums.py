"""Bytes at sums of 32 bits that may wrap around are read side by side where a loop's first access tells of them."""

import numpy as np
import pytest

from weft import ptx

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry lengths(.param .u64 .ptr text, .param .u64 .ptr word, .param .u32 m,
		.param .u64 .ptr out, .param .u32 n) {
	.reg .pred %p;
	.reg .b16 %s, %t;
	.reg .b32 %i, %k, %m, %n, %x, %l, %g;
	.reg .b64 %a, %w, %o, %d;
	ld.param.u64 %a, [text];
	ld.param.u64 %w, [word];
	ld.param.u32 %m, [m];
	ld.param.u64 %o, [out];
	ld.param.u32 %n, [n];
	mov.u32 %l, %tid.x;
	mov.u32 %g, %ctaid.x;
	mov.u32 %x, %ntid.x;
	mad.lo.s32 %i, %g, %x, %l;
	setp.ge.s32 %p, %i, %n;
	@%p bra END;
	mov.u32 %k, 0;
LOOP:
	add.s32 %x, %k, %i;
	cvt.s64.s32 %d, %x;
	add.s64 %d, %a, %d;
	ld.u8 %s, [%d];
	cvt.s64.s32 %d, %k;
	add.s64 %d, %w, %d;
	ld.u8 %t, [%d];
	setp.ne.s16 %p, %s, %t;
	@%p bra DONE;
	add.s32 %k, %k, 1;
	setp.lt.s32 %p, %k, %m;
	@%p bra LOOP;
DONE:
	mul.wide.s32 %d, %i, 4;
	add.s64 %o, %o, %d;
	st.u32 [%o], %k;
END:
	ret;
}
"""


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 1, 8])
@pytest.mark.parametrize("m", [1, 5, 64])
def test_words_are_found_and_no_lane_gathers(m: int, width: int | None):
    n = 331
    rng = np.random.default_rng(m)
    word = rng.integers(0, 2, m, dtype=np.uint8)
    text = rng.integers(0, 2, n + m - 1, dtype=np.uint8)
    text[n - 1 :] = word
    text[40 : 40 + min(m, 60)] = word[:60]
    kernel = ptx.Module(TEXT, **({} if width is None else {"width": width}))["lengths"]
    out = np.full(n + 1, -1, np.int32)
    kernel[3, 128](text, word, m, out, n)
    expected = [next((k for k in range(m) if text[i + k] != word[k]), m) for i in range(n)]
    assert out.tolist() == [*expected, -1]
    assert not any("gather" in remark.message for remark in kernel.remarks)
