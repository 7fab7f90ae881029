"""Passive lanes do no harm: arrays end at pages that must not be touched, divisors are zero.

The kernels run in processes of their own, which a wrong access or a trap ends.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from codegen.machine_code import ISAS, WIDTHS

TESTS = Path(__file__).parents[1]


def last_line_of(module: str, *arguments: str) -> str:
    """Run a module of these tests in a process of its own, which has to end well; the last line it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=TESTS, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}\nended with {ran.returncode}"
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("isa", [isa.name for isa in ISAS])
def test_passive_lanes_touch_no_memory(isa: str) -> None:
    assert last_line_of("codegen.guard_pages", isa, *map(str, WIDTHS[1::2])) == "untouched"


@pytest.mark.parametrize(("isa", "width"), [(isa.name, WIDTHS[2 * i + 1]) for i, isa in enumerate(ISAS)])
def test_passive_lanes_do_not_trap_nor_leave_the_domain_of_a_function(isa: str, width: int) -> None:
    assert last_line_of("codegen.harmless", isa, str(width)) == "harmless"
