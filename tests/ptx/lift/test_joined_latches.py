"""Loops that go around from several places are one loop: lanes do not wait for those that go around elsewhere."""

import numpy as np

from weft import ptx
from weft.diag.remarks import RemarkKind

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 .ptr x) {
	.reg .pred %p;
	.reg .b32 %i, %n, %s;
	.reg .b64 %a, %o;
	ld.param.u64 %a, [x];
	mov.u32 %i, %tid.x;
	mul.wide.u32 %o, %i, 4;
	add.s64 %a, %a, %o;
	ld.u32 %n, [%a];
	mov.u32 %s, 0;
AGAIN:
	setp.eq.u32 %p, %n, 1;
	@%p bra DONE;
	add.u32 %i, %s, %n;
	and.b32 %i, %i, 3;
	setp.eq.u32 %p, %i, 0;
	@%p bra SKIP;
	add.u32 %s, %s, %n;
	shr.u32 %n, %n, 1;
	bra AGAIN;
SKIP:
	sub.u32 %n, %n, 1;
	bra AGAIN;
DONE:
	st.u32 [%a], %s;
	ret;
}
"""


def _walked(n: int) -> int:
    s = 0
    while n != 1:
        if (s + n) & 3:
            s, n = s + n, n >> 1
        else:
            n -= 1
    return s


def test_a_loop_that_goes_around_from_two_places_is_one_loop() -> None:
    kernel = ptx.Module(TEXT, width=8)["f"]
    x = np.arange(1, 65, dtype=np.uint32)
    wanted = [_walked(int(n)) for n in x]
    kernel[1, 64](x)
    assert x.tolist() == wanted
    loops = [r for r in kernel.remarks if r.kind is RemarkKind.DIVERGENT_LOOP]
    assert len(loops) == 1
