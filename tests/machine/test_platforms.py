"""Other systems than Linux are refused with what they lack, before anything else goes wrong."""

import subprocess
import sys

import pytest

from weft.machine.platforms import require_platform


@pytest.mark.parametrize(
    ("system", "said"),
    [("darwin", "macOS lacks futexes"), ("win32", "Windows lacks POSIX"), ("aix", "aix lacks")],
)
def test_what_is_missing_is_said(system: str, said: str) -> None:
    with pytest.raises(ImportError, match=said):
        require_platform(system)


def test_importing_weft_says_it_first() -> None:
    program = "import sys; sys.platform = 'win32'; import weft"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: weft runs on Linux only: Windows lacks")
