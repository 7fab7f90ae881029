"""Random walks down trees by stacks: machine code of loops and kernels does what Python does, on every level.

PYTHONPATH=tests WEFT_FUZZ=1 runs many more.
"""

import importlib.util
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weft
from generators.walks import random_tree, random_walk
from weft import cuda
from weft.diag.remarks import Remark
from weft.machine.host import chosen

PROGRAMS = 400 if os.environ.get("WEFT_FUZZ") else 4
WIDTHS = (None, None, 1, 2, 4, 8, 8, 16, 32)
LEVELS = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
LEFT_OUT = ((), (), (), (), ("shared-stacks",), ("short-rows",), ("wide-masks",), ("boscc",))
THREADS = 83

Walk = Callable[..., None]


def functions(seed: int, folder: Path) -> tuple[Walk, Walk]:
    """The loop and the kernel of a seed."""
    file = folder / f"walk{seed}.py"
    file.write_text(random_walk(seed))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.loop, module.kernel


def keys_of(seed: int) -> np.ndarray:
    """What threads look for: neighbours something like the same, in most of the runs."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 1 << 16, THREADS)
    if seed % 3:
        keys = np.repeat(keys, 8)[:THREADS] ^ (1 << rng.integers(0, 16, THREADS))
    return keys.astype(np.int32)


def walks_together(remarks: list[Remark]) -> bool:
    return any("walk by one stack" in r.message for r in remarks)


def check(seed: int, folder: Path) -> bool:
    """Run both forms of a program; whether threads walk together."""
    rng = random.Random(f"walks {seed}")
    loop, kernel = functions(seed, folder)
    (children, values), keys = random_tree(seed), keys_of(seed)
    width, without = rng.choice(WIDTHS), rng.choice(LEFT_OUT)
    wanted, looped, launched = ((np.zeros(THREADS, np.int64), np.zeros(THREADS)) for _ in range(3))
    loop(children, values, keys, *wanted)
    parallel = weft.jit(loop, width=width, without=without)
    # Behind the first call it is known how short rows are.
    for _ in range(2):
        parallel(children, values, keys, *looped)
    made = cuda.jit(kernel, width=width, without=without)
    made[3, 32](children, values, keys, *launched)
    for form, found in (("loop", looped), ("kernel", launched)):
        for w, f in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(f, w, f"{form} of {seed}, width {width}, without {without}")
    return walks_together(parallel.remarks) or walks_together(made.remarks)


def levels() -> list[str]:
    return [level for level, feature in LEVELS.items() if feature in chosen().features]


def test_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = 0
    there = levels() or [""]
    for seed in range(PROGRAMS):
        if there[0]:
            monkeypatch.setenv("WEFT_CPU", there[seed % len(there)])
        together += check(seed, tmp_path)
    assert together >= PROGRAMS // 4
