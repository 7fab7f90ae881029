"""All cases of the suite, for tests that run it under other options: widths, block sizes."""

from __future__ import annotations

import importlib
from pathlib import Path

from conformance.cases import Case, Cases

# Their outcome is text or an exception, not arrays.
_OTHER = {"test_print"}


def every_case() -> dict[str, Case]:
    """Return each case of each module of this folder, named ``module.case``."""
    found: dict[str, Case] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path.stem in _OTHER or "cases = Cases()" not in path.read_text():
            continue
        cases: Cases = importlib.import_module(f"conformance.{path.stem}").cases
        found |= {f"{path.stem.removeprefix('test_')}.{case.name}": case for case in cases}
    return found
