"""The plain Python execution that judges weft is itself compared with numba-cuda's simulator."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_plain_python_agrees_with_the_simulator() -> None:
    pytest.importorskip("numba_cuda")
    # The simulator must be chosen before numba is imported, so a process of its own runs it.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "conformance.simulator"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
