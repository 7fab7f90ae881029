"""Random kernels compute the same before and after allocation, whatever the policy, and need no more than allowed.

``PYTHONPATH=tests python -m spill.test_random 0 1000`` runs a range of seeds.
"""

import os
import random
import sys

import numpy as np
import pytest

from generators.ptx_kernels import ROW, random_kernel
from pairs import WHOLE
from spill.runs import interpret
from weft.diag.errors import PtxError
from weft.ptx.reader import read_module
from weft.ptx.writer import write_module
from weft.spill.kernel import Kernel
from weft.spill.module import chosen, with_kernels
from weft.spill.policies import Policy
from weft.spill.settings import Settings

_POLICIES = tuple(Policy)
_THREADS = 64


def written(text: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All memory behind a launch of two blocks."""
    x = np.random.default_rng(seed).integers(0, 200, 4 * _THREADS * 2, np.uint32)
    out = np.full(ROW * _THREADS * 2, 0x55555555, np.uint32)
    interpret(text, 2, _THREADS, out, x)
    return out, x


def check(seed: int, policies=_POLICIES, budgets: int = 1, size: int = 0) -> int:
    """Compare one kernel under each policy; return how many versions were run."""
    draw = random.Random(seed)
    text = random_kernel(draw, _THREADS, size or draw.choice((8, 16, 24, 40)))
    wanted = written(text, seed)
    module = read_module(text, f"<seed {seed}>")
    arch, block = draw.choice(("sm_61", "sm_75", "sm_90")), draw.choice((None, (_THREADS, 1, 1)))
    kernel = Kernel.of(module, "k", arch=arch, block=block, degree=draw.choice((1, 2)))
    ran = 0
    for policy in policies:
        for _ in range(budgets):
            settings = Settings(
                draw.randint(8, 24) if budgets == 1 else draw.randint(8, 64), policy, arch, block,
                draw.choice(("linear", "chordal")), draw.random() < 0.7, draw.random() < 0.7,
                draw.choice(("last", "next")),
            )  # fmt: skip
            try:
                made = chosen(kernel, settings)
            except PtxError:
                assert settings.registers < 14
                continue
            on_top = 0 if settings.count_bases else 6
            assert made.pressure <= settings.registers + on_top, (seed, settings)
            found = written(write_module(with_kernels(module, {"k": made})), seed)
            for before, after in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(before, after, err_msg=f"seed {seed}, {settings}")
            ran += 1
    return ran


@pytest.mark.parametrize("part", range(10))
def test_random_kernels(part: int) -> None:
    """One policy each for three kernels: thirty in all, a hundred with ``WEFT_FUZZ``."""
    each = 10 if WHOLE else 3
    ran = sum(check(seed, (_POLICIES[seed % 5],), size=5) for seed in range(10 * part, 10 * part + each))
    assert ran >= each - 2


@pytest.mark.skipif(not os.environ.get("WEFT_FUZZ"), reason="for make fuzz")
@pytest.mark.parametrize("seed", range(1000, 1000 + int(os.environ.get("WEFT_FUZZ", "0"))))
def test_more_random_kernels(seed: int) -> None:
    check(seed)


def main(first: int, last: int) -> None:
    """Run a range of seeds under all policies."""
    ran = 0
    for seed in range(first, last):
        ran += check(seed)
        if seed % 50 == 49:
            print(f"{seed + 1 - first} kernels, {ran} versions, no difference", flush=True)
    print(f"seeds {first} to {last - 1}: {ran} versions, no difference")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
