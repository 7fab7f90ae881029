"""Occupancy against NVIDIA's calculator."""

import pytest

from weft.diag.errors import SettingError
from weft.machine.gpus import architecture, occupancy

# arch, threads, registers, shared bytes: work-groups, what limits (CUDA's occupancy calculator)
KNOWN = [
    ("sm_90", 256, 32, 0, 8, "warps"),
    ("sm_90", 256, 64, 0, 4, "registers"),
    ("sm_90", 256, 33, 0, 6, "registers"),
    ("sm_75", 128, 24, 0, 8, "warps"),
    ("sm_75", 32, 24, 0, 16, "blocks"),
    ("sm_86", 128, 40, 48 * 1024, 2, "shared memory"),
    ("sm_80", 64, 16, 0, 32, "blocks"),
    ("sm_20", 256, 20, 0, 6, "warps"),
    ("sm_20", 192, 21, 0, 7, "registers"),
    ("sm_20", 256, 8, 16 * 1024, 3, "shared memory"),
]


@pytest.mark.parametrize(("arch", "threads", "registers", "shared", "blocks", "limit"), KNOWN)
def test_occupancy(arch, threads, registers, shared, blocks, limit):
    found = occupancy(architecture(arch), threads, registers, shared)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.warps == blocks * -(-threads // 32)


def test_what_does_not_fit_has_no_occupancy():
    assert occupancy(architecture("sm_75"), 1024, 65).blocks == 0
    assert occupancy(architecture("sm_75"), 32, 256).limit == "registers"
    assert occupancy(architecture("sm_75"), 32, 8, 65 * 1024).limit == "shared memory"


def test_architectures_by_name():
    assert architecture("sm_90a") is architecture("sm_90")
    assert architecture("sm_120").capability == 120
    for wrong in ("sm_91", "sm_80a", "sm_90f", "sm_90aa", "", "a"):
        with pytest.raises(SettingError, match="no architecture"):
            architecture(wrong)
