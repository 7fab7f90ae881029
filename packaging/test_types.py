"""A user's program holds up under pyright's strict rules, and runs."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_a_program_passes_strict_rules_and_runs() -> None:
    command = [sys.executable, "-m", "pyright", "--project", str(HERE), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([sys.executable, str(HERE / "sample.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3072.0" in done.stdout
