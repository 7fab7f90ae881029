"""The code of docs/tutorial.md is one program, and what it asserts holds."""

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"


def test_the_tutorial_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    file = tmp_path / "tutorial.py"
    file.write_text("\n\n".join(blocks))
    runpy.run_path(str(file))
