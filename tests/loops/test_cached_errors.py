"""Errors of code from the cache name the files that its functions are in now."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from frontend.test_source_text import imported

HELPER = "def positive(a):\n    if a < 0:\n        raise ValueError('negative')\n    return a\n"
MAIN = """
import weft

@weft.jit
def root(a):
    if a == 0:
        raise ValueError('zero')
    return positive(a)
"""


def project(folder: Path) -> Any:
    folder.mkdir()
    helper, main = imported(folder / "helper.py", HELPER), imported(folder / "main.py", MAIN)
    main.positive = helper.positive  # type: ignore[attr-defined]
    return main


def places(function: Any) -> list[str]:
    found = []
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match=r"zero|negative") as caught:
            function(value)
        found += caught.value.__notes__
    return found


def test_a_project_that_was_moved_is_named_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WEFT_CHECK", "0")
    one = places(project(tmp_path / "first").root)
    stored = len(list((tmp_path / "cache").rglob("*.weft")))
    shutil.rmtree(tmp_path / "first")
    two = places(project(tmp_path / "second").root)
    assert len(list((tmp_path / "cache").rglob("*.weft"))) == stored
    assert two == [place.replace("first", "second") for place in one]
    assert "main.py" in two[0]
    assert "helper.py" in two[1]
