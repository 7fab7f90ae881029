"""The option ``boscc=`` of ``cuda.jit``: what it does to a kernel, and what it refuses."""

import numpy as np
import pytest

from weft import cuda
from weft.errors import SignatureError


def rare_gather(values, table, out):
    i = cuda.grid(1)
    if i < out.size:
        v = values[i]
        result = v
        if v == 7:
            result = table[(v * i) % 5] + table[(v + i) % 3]
        out[i] = result


@pytest.mark.parametrize("boscc", ["off", "auto", "on"])
def test_the_result_is_the_same_and_each_gadget_is_remarked(boscc: str):
    kernel = cuda.jit(boscc=boscc, width=8)(rare_gather)
    values = np.arange(45, dtype=np.int32) // 6
    table = np.arange(5, dtype=np.int32) * 100
    out = np.zeros_like(values)
    kernel[3, 15](values, table, out)
    i = np.arange(45)
    taken = table[(values * i) % 5] + table[(values + i) % 3]
    assert np.array_equal(out, np.where(values == 7, taken, values))
    (compiled,) = kernel.overloads.values()
    skips = [
        r for r in compiled.remarks if "is skipped by lane groups none of whose lanes take it" in r.message
    ]
    assert bool(skips) == (boscc != "off")


def test_an_unknown_mode_is_refused():
    with pytest.raises(SignatureError, match="boscc='sometimes'"):
        cuda.jit(boscc="sometimes")


def digits(x, shift, per, counts):
    shared = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        shared[t] = 0
    cuda.syncthreads()
    base = cuda.blockIdx.x * per
    for k in range(t, per, cuda.blockDim.x):
        if base + k < x.size:
            cuda.atomic.add(shared, (x[base + k] >> shift) & 15, 1)
    cuda.syncthreads()
    if t < 16:
        counts[cuda.blockIdx.x, t] = shared[t]


def chosen_digits(x, shift, per, counts):
    shared = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        shared[t] = 0
    cuda.syncthreads()
    for k in range(t, per, cuda.blockDim.x):
        if x[cuda.blockIdx.x * per + k] % 7 == 3:
            cuda.atomic.add(shared, (x[cuda.blockIdx.x * per + k] >> shift) & 15, 1)
    cuda.syncthreads()
    if t < 16:
        counts[cuda.blockIdx.x, t] = shared[t]


@pytest.mark.spread
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", ""])
@pytest.mark.parametrize("size", [1, 63, 500, 1024])
def test_counts_in_shared_memory_have_a_copy_without_masks(
    size: int, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    x = np.random.default_rng(3).integers(0, 1 << 16, size).astype(np.int32)
    kernel = cuda.jit(width=16)(digits)
    counts = np.full((4, 16), -1, np.int32)
    kernel[4, 64](x, 4, 256, counts)
    for group, found in enumerate(counts):
        part = x[256 * group : 256 * group + 256]
        assert found.tolist() == np.bincount((part >> 4) & 15, minlength=16).tolist()
    assert _says(kernel, "copy without masks")
    # Where what is loaded decides, few lane groups have all their lanes there.
    chosen, counts = cuda.jit(width=16)(chosen_digits), np.zeros((1, 16), np.int32)
    chosen[1, 64](x, 4, size // 64 * 64, counts)
    part = x[: size // 64 * 64]
    assert counts[0].tolist() == np.bincount((part[part % 7 == 3] >> 4) & 15, minlength=16).tolist()
    assert not _says(chosen, "copy without masks")


def _says(kernel, text: str) -> bool:
    (compiled,) = kernel.overloads.values()
    return any(text in r.message for r in compiled.remarks)
