"""Null, released and wrong objects give the standard's errors, and no call with any arguments ends its host."""

import os
import subprocess
import sys
from pathlib import Path

CALLS = "20000" if os.environ.get("WEFT_FUZZ") else "400"


def test_wrong_objects(vendors: Path) -> None:
    program = Path(__file__).with_name("wrong_objects.py")
    driver = (vendors / "weft.icd").read_text().strip()
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(program), driver, str(len(CALLS)), CALLS],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and int(done.stdout.split()[0]) > 400, done.stderr
