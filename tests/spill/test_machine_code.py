"""Spill code survives ptxas: as many accesses in the machine code as there are in the text."""

import re
from collections import Counter

import pytest

from ptx.tools import MISSING, NVDISASM, PTXAS, machine_code
from spill.programs import UNIFORM_COUNTER
from weft.spill.module import spill


@pytest.mark.spread
@pytest.mark.skipif(PTXAS is None or NVDISASM is None, reason=MISSING)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("policy", ["local", "affine", "hybrid"])
def test_every_reload_and_store_is_in_the_machine_code(policy: str, arch: str) -> None:
    made = spill(UNIFORM_COUNTER.replace("sm_75", arch), 6, policy, block=64, reuse=False)
    written: Counter[str] = Counter()
    for each in made.kernels["k"].inserted:
        i = each.instruction
        if i.opcode in ("ld", "st"):
            written[f"{i.opcode.upper()}{'L' if 'local' in i.modifiers else 'S'}"] += 1
    assert written and Counter(re.findall(r"\b(LDL|STL|LDS|STS)\b", machine_code(made.text, arch))) == written
