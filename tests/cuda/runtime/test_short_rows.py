"""Launches whose arguments tell how long rows are run code that is made for just that length."""

from collections.abc import Callable
from pathlib import Path

SUMS = """
.visible .entry sums(.param .u64 x, .param .u32 length, .param .u64 result)
{
    .reg .pred %p<3>; .reg .b32 %r<10>; .reg .f32 %f<3>; .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [length];
    ld.param.u64 %rd2, [result];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.lo.s32 %r6, %r5, %r1;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r7, 0;
    setp.lt.s32 %p1, %r1, 1;
    @%p1 bra DONE;
LOOP:
    add.s32 %r8, %r6, %r7;
    mul.wide.s32 %rd3, %r8, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f2, [%rd4];
    add.f32 %f1, %f1, %f1;
    add.f32 %f1, %f1, %f2;
    add.s32 %r7, %r7, 1;
    setp.lt.s32 %p2, %r7, %r1;
    @%p2 bra LOOP;
DONE:
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.f32 [%rd6], %f1;
    ret;
}
"""


def test_each_length_has_its_code_and_its_result(
    host: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    host(
        f"""
[sums] = register(HEAD + '''{SUMS}''', ["sums"])
# A launch of few threads, a length that is too large, and one that is negative run the general code.
for length, blocks in ((3, 8), (2, 8), (40, 8), (3, 8), (-2, 8), (4, 1)):
    count = 32 * blocks
    x = np.random.default_rng(abs(length)).integers(0, 9, (count, abs(length))).astype(np.float32)
    result = to_device(np.full(count, 7, np.float32))
    assert launch(sums, blocks, 32, to_device(x), c_int(length), result) == 0
    assert library.cudaDeviceSynchronize() == 0
    expected = (x * 2.0 ** np.arange(abs(length))[::-1]).sum(axis=1) if length > 0 else np.zeros(count)
    assert np.allclose(from_device(result, np.zeros(count, np.float32)), expected), (length, blocks)
""",
        WEFT_CACHE_DIR=str(tmp_path),
    )
    # For all lengths, for 3 and for 2.
    assert len(list(tmp_path.glob("host/kernel-*.so"))) == 3
