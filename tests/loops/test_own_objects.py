"""Arrays that each iteration has of its own, in loops that have a second version."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = """
int own_tables(int n, int m, int *restrict a, const int *restrict b) {
  int s = 0;
  for (int i = 1; i < n; i++) {
    a[i] = a[i - 1] / 2 + 1;
    for (int j = 0; j < m; j++) {
      int table[4];
      for (int x = 0; x < 4; x++) table[x] = b[j] * x + i;
      s += table[b[j] & 3];
    }
  }
  return s;
}
"""


@pytest.mark.parametrize("width", [None, 4])
def test_each_version_has_its_objects(width: int | None, tmp_path: Path) -> None:
    file = tmp_path / "own.c"
    file.write_text(SOURCE)
    spec = TargetSpec.chosen()
    text = compile_c(file, spec.triple)
    made = vectorize_ir(text, "own_tables", loop="auto", width=width)
    assert made.loops
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    codes = [load_object(code, ["own_tables"]) for code in (emit_object(text, spec), made.object_code)]
    draw = np.random.default_rng(1)
    for n, m in ((0, 5), (2, 0), (5, 3), (9, 300)):
        a, b = draw.integers(0, 99, 400, np.int32), draw.integers(0, 99, 400, np.int32)
        found = []
        for code in codes:
            mine = a.copy()
            result = signature(code.address("own_tables"))(n, m, mine.ctypes.data, b.ctypes.data)
            found.append((result, mine.tolist()))
        assert found[0] == found[1], (n, m)
