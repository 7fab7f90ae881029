"""The command ``weft loops``."""

import json
from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from weft.cli import main

TEXT = """
define void @scale(ptr noalias %x, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p
  %w = fmul float %v, 2.0
  store float %w, ptr %p
  %next = add nsw i64 %i, 1
  br label %head
end:
  ret void
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.ll"
    path.write_text(TEXT)
    return path


def test_llvm_ir(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loops", str(file), "--json"]) == 0
    (loop,) = json.loads(capsys.readouterr().out)["loops"]
    assert loop["verdict"] == "parallel"
    assert loop["iterations"] == "max(0, n)"
    assert loop["out"] == [{"name": "x", "section": ["0", "4*n"]}]
    assert [(a["line"], a["kind"]) for a in loop["accesses"]] == [(11, "load"), (13, "store")]
    assert loop["assumptions"] == []


def test_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loops", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "parallel, max(0, n) iterations" in shown
    assert "out x, bytes [0, 4*n)" in shown


def test_python_needs_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.py"
    path.write_text("def twice(x):\n    for i in range(x.size):\n        x[i] *= 2\n")
    assert main(["loops", str(path)]) == 1
    assert "the argument types of twice are not known" in capsys.readouterr().err
    assert main(["loops", str(path), "--types", "void(float32[::1])"]) == 0
    assert "parallel, x.shape[0] iterations" in capsys.readouterr().out


def test_wrong_usage(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loops", str(tmp_path / "missing.c")]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["loops", str(file), "--function", "other"]) == 1
    assert "defines no function 'other'" in capsys.readouterr().err
    other = tmp_path / "a.txt"
    other.write_text("")
    assert main(["loops", str(other)]) == 2


def test_numbers_for_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    path = tmp_path / "strided.c"
    path.write_text("void f(int n, float *a) {\n  for (int i = 0; i < 2 * n; i += 4)\n    a[i] = 0;\n}\n")
    assert main(["loops", str(path), "--set", "n=200"]) == 0
    assert "parallel, 100 iterations" in capsys.readouterr().out
    assert main(["loops", str(path), "--rounds", "2=100", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["instantiated"]
    assert (found["name"], found["values"]) == ("n", [199, 200])
    assert main(["loops", str(path), "--set", "m=1"]) != 0
    assert "no loop has a parameter 'm'" in capsys.readouterr().err


def test_kernels_and_reports_at_once(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernels, page = tmp_path / "kernels.cl", tmp_path / "page.html"
    assert main(["loops", str(file), "--emit", str(kernels), "--json", "--html", str(page)]) == 0
    assert json.loads(capsys.readouterr().out)["loops"][0]["verdict"] == "parallel"
    assert "kernel void scale_kernel" in kernels.read_text()
    assert "scale" in page.read_text()
    assert main(["loops", str(file), "--emit", str(kernels)]) == 0
    assert capsys.readouterr().out == ""
