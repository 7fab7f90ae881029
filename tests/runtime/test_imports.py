"""What a process imports to call code from the cache: as little as may be, since it waits for that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import sys
import numpy as np
import weft
x = np.ones(64, np.float32)
"""
END = """
assert x[0] == 2
print(*sorted(set(sys.modules)))
"""
CALLS = {
    "kernel": """
from weft import cuda
@cuda.jit
def f(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
f[1, 64](x)
""",
    "function": """
@weft.jit
def f(x):
    for i in weft.prange(x.size):
        x[i] *= 2
f(x)
""",
    "array": """
@weft.jit
def f(x):
    return x * 2
x = f(x)
""",
    "elementwise": """
@weft.vectorize
def f(x):
    return x * 2
x = f(x)
""",
}

COMPILER = (
    *("analysis", "aot", "check", "cli", "costs", "graph", "interp", "ir", "passes", "ptx", "report", "simt"),
    *("spill", "transform", "codegen.widen", "frontend.python.compile", "frontend.python.lowering"),
    *("machine.vecmath", "target.passes", "opencl", "dask", "logs"),
)
"""Parts of weft that calls of kept code have no use for."""
OTHERS = (
    "argparse",
    "ast",
    "decimal",
    "fractions",
    "inspect",
    "subprocess",
    "tokenize",
    "tempfile",
)
"""What others have that takes long to import, unless NumPy or msgspec imports it."""


def imported(script: Path, cache: Path) -> set[str]:
    environment = {**os.environ, "WEFT_CACHE_DIR": str(cache), "WEFT_CHECK": "0"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def of_others() -> set[str]:
    """What NumPy and msgspec import."""
    code = "import msgspec, numpy, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("what", CALLS)
def test_a_call_of_kept_code_imports_no_compiler(what: str, of_others: set[str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(START + CALLS[what] + END)
    cache = tmp_path / "cache"
    first = imported(script, cache)
    assert "weft.ir" in first, "the first call compiles"
    kept = imported(script, cache) - of_others
    parts = {f"weft.{part}" for part in COMPILER}
    assert not {name for name in kept if any(f"{name}.".startswith(f"{part}.") for part in parts)}
    assert kept.isdisjoint(OTHERS)
    assert sum(name.startswith("weft") for name in kept) <= 107
