"""Libraries of kernels find the vector math libraries that they need, and ask for no others."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from weft.device.host import shared_library
from weft.device.host.shared_library import link_shared
from weft.machine.vecmath import SVML, VectorMathLibrary
from weft.machine.vecmath_load import LoadedLibrary, load
from weft.target.machine import TargetSpec, emit_object

KERNEL = """
declare double @fast_twice(double)
define double @run(double %x) {
  %y = call double @fast_twice(double %x)
  ret double %y
}
"""
TWICE = """
define double @fast_twice(double %x) {
  %y = fadd double %x, %x
  ret double %y
}
"""
ONE = """
define double @run_one(double %x) {
  %v = insertelement <2 x double> zeroinitializer, double %x, i32 0
  %w = call <2 x double> @run(<2 x double> %v)
  %y = extractelement <2 x double> %w, i32 0
  ret double %y
}
"""
CALL = """
import ctypes
run = ctypes.CDLL({!r}).{}
run.restype, run.argtypes = ctypes.c_double, (ctypes.c_double,)
print(run({}))
"""


def made(text: str, path: Path) -> Path:
    path.write_bytes(emit_object(text, TargetSpec.chosen()))
    return path


def test_what_lies_beside_python_is_found_by_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    link_shared([made(TWICE, tmp_path / "twice.o")], folder / "libfast.so")
    library = VectorMathLibrary("fast", ("libfast.so",), None, "fast_{name}", {"twice": 1.0}, ())
    file = str(folder / "libfast.so")
    monkeypatch.setattr(
        shared_library, "installed", lambda: (LoadedLibrary(library, file, ctypes.CDLL(file)),)
    )
    link_shared([made(KERNEL, tmp_path / "kernel.o")], tmp_path / "kernel.so")
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(str(tmp_path / "kernel.so"), "run", 4.0)],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "8.0\n", done.stderr
    assert b"libfast.so" in (tmp_path / "kernel.so").read_bytes()
    link_shared([made(TWICE.replace("fast_", ""), tmp_path / "alone.o")], tmp_path / "alone.so")
    assert b"libfast.so" not in (tmp_path / "alone.so").read_bytes()


@pytest.mark.skipif(load(SVML) is None, reason="there is no libsvml")
def test_svml_comes_with_what_it_does_not_ask_for(tmp_path: Path) -> None:
    text = KERNEL.replace("fast_twice", "__svml_exp2").replace("double", "<2 x double>") + ONE
    link_shared([made(text, tmp_path / "kernel.o")], tmp_path / "kernel.so")
    call = CALL.format(str(tmp_path / "kernel.so"), "run_one", 0.0)
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    assert done.stdout == "1.0\n", done.stderr
