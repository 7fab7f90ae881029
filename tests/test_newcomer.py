"""docs/newcomer.md, run from an empty directory as it stands: its files are written, its commands run, in its order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "newcomer.md"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([\w.]+)\"| (expected))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    source = os.pathsep.join(sys.path)
    for name, arguments in {"python": "", "weft": " -m weft"}.items():
        (binaries / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (binaries / name).chmod(0o755)
    (folder := tmp_path / "empty").mkdir()
    environment = os.environ | {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": source,
        "WEFT_CACHE_DIR": str(tmp_path / "cache"),
        "WEFT_CHECK": "0",
    }
    said, kinds = "", []
    for language, title, expected, text in BLOCK.findall(PAGE.read_text()):
        kinds.append(expected or language)
        if title:
            (folder / title).write_text(text)
        elif expected:
            for line in text.splitlines():
                assert line in said, f"{line!r} is not in what the commands before it said:\n{said}"
        elif language == "sh":
            said = ""
            # What is installed here is what is tested; packaging/ installs it.
            for command in (c for c in text.splitlines() if not c.startswith("pip install")):
                done = subprocess.run(
                    command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                said += done.stdout
    assert kinds.count("sh") == 8 and kinds.count("expected") == 4
