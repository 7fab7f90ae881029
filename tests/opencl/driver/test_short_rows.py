"""Launches whose arguments tell how long rows are run code that is made for just that length."""

from collections.abc import Callable
from pathlib import Path


def test_each_length_has_its_code_and_its_result(host: Callable[..., str], tmp_path: Path) -> None:
    host(
        """
source = '''
kernel void sums(global const float *x, int2 unused, int length, global float *result)
{
    size_t i = get_global_id(0);
    float total = 0;
    for (int d = 0; d < length; d++) total = total * 2 + x[i * length + d];
    result[i] = total;
}
'''
kernel = cl.Program(context, source).build().sums
# A launch of few work-items, a length that is too large, and one that is negative run the general code.
for length, count in ((3, 200), (2, 200), (40, 200), (3, 200), (-2, 200), (4, 8), (2, 203)):
    x = np.random.default_rng(abs(length)).integers(0, 9, (count, abs(length))).astype(np.float32)
    rows, result = buffer(x), buffer(np.full(count, 7, np.float32))
    kernel.set_args(rows, np.int32([1, 2]).view(cl.cltypes.int2)[0], np.int32(length), result)
    cl.enqueue_nd_range_kernel(queue, kernel, (count,), (8 if count % 8 == 0 else 7,))
    expected = (x * 2.0 ** np.arange(abs(length))[::-1]).sum(axis=1) if length > 0 else np.zeros(count)
    assert np.allclose(read(result, np.zeros(count, np.float32)), expected), (length, count)
""",
        WEFT_CACHE_DIR=str(tmp_path),
    )
    # For all lengths, for 3 and for 2: code for groups of 7 work-items is that for groups of 8.
    assert len(list(tmp_path.glob("host/kernel-*.so"))) == 3


def test_two_numbers_and_a_wide_one(host: Callable[..., str]) -> None:
    host(
        """
source = '''
kernel void rows(global const int *x, global const int *y, long a, uchar b, global int *result)
{
    size_t i = get_global_id(0);
    int total = 0;
    for (long d = 0; d < a; d++) total = total * 3 + x[i * a + d];
    for (uint d = 0; d < b; d++) total = total * 5 + y[i * b + d];
    result[i] = total;
}
'''
kernel = cl.Program(context, source).build().rows
random = np.random.default_rng(1)
for a, b in ((2, 3), (3, 2), (2, 200), (40, 0), (2, 3), (0, 16)):
    x, y = (random.integers(0, 9, (128, n)).astype(np.int32) for n in (a, b))
    expected = np.zeros(128, np.int32)
    for row, factor in ((x, 3), (y, 5)):
        for d in range(row.shape[1]):
            expected = expected * np.int32(factor) + row[:, d]
    result = buffer(np.zeros(128, np.int32))
    memories = [buffer(np.concatenate([v.ravel(), np.zeros(1, np.int32)])) for v in (x, y)]
    kernel.set_args(*memories, np.int64(a), np.uint8(b), result)
    cl.enqueue_nd_range_kernel(queue, kernel, (128,), (32,))
    assert (read(result, np.zeros(128, np.int32)) == expected).all(), (a, b)
"""
    )
