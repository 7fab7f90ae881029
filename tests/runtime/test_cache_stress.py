"""Processes that share a cache directory and are killed in between; with ``WEFT_FUZZ`` a thousand."""

import os
from pathlib import Path

from runtime.cache_stress import stress

PROCESSES = 1000 if os.environ.get("WEFT_FUZZ") else 5


def test_no_wrong_code_and_no_lost_run(tmp_path: Path) -> None:
    figures = stress(tmp_path, PROCESSES, at_once=8 if PROCESSES > 100 else 4, seed=1)
    assert not figures.wrong, "\n".join(figures.wrong[:3])
    assert figures.ends.total() == PROCESSES
    assert figures.ends["compiled"] + figures.ends["found in the cache"] > PROCESSES // 2
