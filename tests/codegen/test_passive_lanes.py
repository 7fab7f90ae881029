"""No load or store of a passive lane ever happens: arrays end at pages that must not be touched.

The kernels run in a process of their own, which a wrong access ends.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from codegen.machine_code import ISAS, WIDTHS

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("isa", [isa.name for isa in ISAS])
def test_passive_lanes_touch_no_memory(isa: str) -> None:
    widths = [str(w) for w in WIDTHS[1::2]]
    ran = subprocess.run(
        [sys.executable, "-m", "codegen.guard_pages", isa, *widths],
        cwd=TESTS, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}\nended with {ran.returncode}"
    assert ran.stdout.splitlines()[-1] == "untouched"
