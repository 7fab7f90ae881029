"""Passive lanes do no harm: arrays end at pages that must not be touched, divisors are zero.

The kernels run in processes of their own, which a wrong access or a trap ends.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.machine_code import ISAS, WIDTHS, spec_to_run
from weft.machine.targets import Isa
from weft.target.machine import TargetSpec

TESTS = Path(__file__).parents[1]
SOME = dict(zip(ISAS, ((4,), (16,), (16,)), strict=False))
"""The widths at which `make test` runs all kernels; `make fuzz` takes all of `WIDTHS`."""


def last_line_of(module: str, isa: Isa, *arguments: str) -> str:
    """Run a module of these tests in a process of its own, which has to end well; the last line it prints.

    Where the machine runs code of the level, that is what the process makes code for, vector math included.
    """
    chosen = {"WEFT_CPU": isa.cpu} if spec_to_run(isa) == TargetSpec.of_isa(isa) else {}
    # The machine code is what is asked about; other tests verify the programs on the way to it.
    chosen["WEFT_CHECK"] = "1" if os.environ.get("WEFT_FUZZ") else "0"
    ran = subprocess.run(
        [sys.executable, "-m", module, isa.name, *arguments],
        cwd=TESTS, env=os.environ | chosen, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}\nended with {ran.returncode}"
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_passive_lanes_touch_no_memory(isa: Isa) -> None:
    widths = WIDTHS if os.environ.get("WEFT_FUZZ") else SOME[isa]
    assert last_line_of("codegen.guard_pages", isa, *map(str, widths)) == "untouched"


@pytest.mark.parametrize(
    ("isa", "width"), list(zip(ISAS, WIDTHS[1::2], strict=False)), ids=lambda p: getattr(p, "name", p)
)
def test_passive_lanes_do_not_trap_nor_leave_the_domain_of_a_function(isa: Isa, width: int) -> None:
    assert last_line_of("codegen.harmless", isa, str(width)) == "harmless"
