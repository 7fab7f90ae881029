"""The model tells the three transposes apart as their authors would."""

import importlib.util
from pathlib import Path

FILE = Path(__file__).parents[2] / "examples" / "gpu_transposes.py"


def test_padding_beats_the_tile_and_the_tile_loses_to_conflicts(capsys):
    spec = importlib.util.spec_from_file_location("gpu_transposes", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.cycles(64, "gtx570")
    assert found["padded"] < 0.7 * min(found["plain"], found["tiled"])
