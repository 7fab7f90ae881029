"""Votes that wait for what lanes have just looked up cost what could have begun behind them (`late_lookup`)."""

import numpy as np
import pytest

import weft
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import domain_named
from weft.costs.regions import RegionCosts
from weft.ir.reader import read_module
from weft.machine.targets import AVX512

N = 200


def near(starts, neighbours, x, out, limit):
    for i in weft.prange(out.size):
        total = np.float32(0)
        for k in range(starts[i], starts[i + 1]):
            d = x[i] - x[neighbours[k]]
            s = d * d
            if s < limit:
                f = np.float32(1) / s
                total += f * f * f * (f * f * f - np.float32(0.5)) * d
        out[i] = total


def near_in_rows(starts, rows, x, out, limit):
    for i in weft.prange(out.size):
        total = np.float32(0)
        for k in range(starts[0], starts[1]):
            d = x[i] - x[k]
            s = d * d
            if s < limit:
                f = np.float32(1) / s
                total += f * f * f * (f * f * f - np.float32(0.5)) * d
        out[i] = total


@pytest.mark.parametrize(("function", "votes"), [(near, False), (near_in_rows, True)])
def test_arithmetic_behind_lookups_gets_no_vote(function, votes: bool, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    random = np.random.default_rng(1)
    starts = np.arange(0, 9 * N + 1, 9).astype(np.int32)
    neighbours = random.integers(0, N, 9 * N).astype(np.int32)
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    compiled = weft.jit(function, fastmath=True, width=32)
    x += np.float32(0.25) * random.random(N).astype(np.float32)
    neighbours = np.where(neighbours == np.repeat(np.arange(N), 9), (neighbours + 1) % N, neighbours)
    others = [neighbours[9 * i : 9 * i + 9] if function is near else np.arange(1) for i in range(N)]
    if function is near_in_rows:
        starts[1] = 1
        x[0] = -5
    compiled(starts, neighbours, x, out, np.float32(20))
    for i in range(N):
        if function is near_in_rows and i == 0:
            continue
        d = x[i] - x[others[i]]
        s = (d * d).astype(np.float64)
        f = 1 / s
        wanted = np.where(s < 20, f**3 * (f**3 - 0.5) * d, 0).sum()
        np.testing.assert_allclose(out[i], wanted, rtol=1e-3, atol=1e-6)
    said = any("is skipped by lane groups none of whose lanes" in r.message for r in compiled.remarks)
    assert said == votes


def test_a_condition_may_have_any_length() -> None:
    """A hash has thousands of steps, one after the other."""
    steps = "\n".join(f"  %x{k + 1} = mul i32 %x{k}, 17" for k in range(3000))
    kernel = read_module(f"""
        define void @k(ptr %p, i64 %tid) "weft.kernel" {{
        entry:
          %i = getelementptr i32, ptr %p, i64 %tid
          %j = load i32, ptr %i
          %q = getelementptr i32, ptr %p, i32 %j
          %x0 = load i32, ptr %q
        {steps}
          %c = icmp slt i32 %x3000, 0
          br i1 %c, label %some, label %done
        some:
          br label %done
        done:
          ret void
        }}""").functions["k"]
    domain = domain_named("product", (16,))
    divergence = analyze_divergence(
        kernel, domain=domain, initial={kernel.args[1]: domain.strided(1, 64, 16)}, width=16
    )
    costs = RegionCosts.of(divergence, 16, AVX512)
    assert costs.chances(kernel.blocks[0], kernel.blocks[1]).looked_up == 1
