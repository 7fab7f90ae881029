"""``weft analyze`` from end to end."""

import json
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from report.programs import FOREIGN, TRAVERSAL
from weft import cli

KERNELS = """
import numpy as np
from weft import cuda

@cuda.jit
def scale(a, x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a

@cuda.jit("void(float32[::1], float32[::1])")
def declared(x, y):
    i = cuda.grid(1)
    y[i] = x[2 * i]
"""

BAD_BARRIER = """
import numpy as np
from weft import cuda

@cuda.jit
def bad(x):
    shared = cuda.shared.array(64, dtype=np.float32)
    t = cuda.threadIdx.x
    if t == 0:
        cuda.syncthreads()
        shared[0] = 1
    else:
        shared[t] = 2
    cuda.syncthreads()
    x[t] = shared[t]
"""


@pytest.fixture
def write(tmp_path: Path):
    """Write a file, return its name."""

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def run(*arguments: str) -> int:
    try:
        return cli.main(["analyze", *arguments])
    except SystemExit as stop:
        return int(stop.code or 0)


def test_llvm_text_is_shown_with_its_gutter(write, capsys) -> None:
    assert run(write("t.ll", TRAVERSAL), "--width", "16") == 0
    out = capsys.readouterr().out
    assert "lane group of 16 lanes" in out
    assert any("S1a16" in line and "%tid = call" in line for line in out.splitlines())
    assert any("loop diverges" in line and "br i1 %hit" in line for line in out.splitlines())


def test_bitcode_is_read_like_text(tmp_path, capsys) -> None:
    (tmp_path / "t.bc").write_bytes(llvm.parse_assembly(TRAVERSAL).as_bitcode())
    assert run(str(tmp_path / "t.bc"), "--json", "--width", "16") == 0
    (function,) = json.loads(capsys.readouterr().out)["functions"]
    values = {v["name"]: v for v in function["values"]}
    assert (values["tid"]["shape"], values["top"]["class"]) == ("S1a16", "uniform")
    assert function["allocas"][0]["name"] == "stack"


def test_python_kernels_by_their_declared_signature_or_by_types(write, capsys) -> None:
    file = write("kernels.py", KERNELS)
    assert run(file, "--json") == 0
    (function,) = json.loads(capsys.readouterr().out)["functions"]
    assert function["name"] == "declared"
    assert {a["form"] for a in function["accesses"]} == {"contiguous", "strided"}
    assert run(file, "--json", "--function", "scale", "--types", "void(float32, float32[::1])") == 0
    (function,) = json.loads(capsys.readouterr().out)["functions"]
    assert function["branches"][0]["divergent"]
    assert {v["name"]: v["class"] for v in function["values"]}["i"] == "strided"


def test_files_of_a_package_can_import_each_other(tmp_path, capsys) -> None:
    folder = tmp_path / "some_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "size.py").write_text("SIZE = 7\n")
    (folder / "kernels.py").write_text("from .size import SIZE\n" + KERNELS.replace("2 * i", "SIZE * i"))
    assert run(str(folder / "kernels.py"), "--json") == 0
    (function,) = json.loads(capsys.readouterr().out)["functions"]
    assert 28 in [access["stride"] for access in function["accesses"]]


def test_what_a_file_prints_at_import_does_not_meet_the_json(write) -> None:
    loud = "import os, sys\nprint('by Python')\nos.system('echo by another')\nos.write(1, b'by C')\n"
    file = write("loud.py", loud + KERNELS)
    done = subprocess.run(
        [sys.executable, "-m", "weft", "analyze", file, "--json"], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["functions"]
    assert [text in done.stderr for text in ("by Python", "by another", "by C")] == [True] * 3


def test_shapes_of_arguments_scope_and_lattice(write, capsys) -> None:
    file = write("t.ll", FOREIGN)

    def classes(*options: str) -> dict[str, str]:
        assert run(file, "--json", *options) == 0
        functions = json.loads(capsys.readouterr().out)["functions"]
        return {v["name"]: v["class"] for v in functions[-1]["values"]}

    assert classes()["a"] == "varying"
    assert classes("--function", "helper", "--args", "C_U")["sum"] == "strided"
    assert classes("--function", "helper", "--args", "C_U", "--lattice", "basic")["sum"] == "varying"
    assert classes("--function", "odd <name>")["5"] == "strided"
    assert classes("--function", "odd <name>", "--scope", "group")["1"] == "uniform"


def test_html_goes_to_a_file(write, tmp_path, capsys) -> None:
    out = tmp_path / "report.html"
    assert run(write("t.ll", FOREIGN), "--html", str(out)) == 0
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == ""


def test_an_earlier_version_stands_beside_it(write, tmp_path) -> None:
    out = tmp_path / "report.html"
    before, after = (tmp_path / name for name in ("before.ll", "after.ll"))
    before.write_text(FOREIGN)
    after.write_text(FOREIGN)
    assert run(str(after), "--html", str(out), "--before", str(before)) == 0
    page = out.read_text()
    assert page.count('role="region"') == 2 and "cycles before" in page


ODD_BYTES = [
    ("c", b'// caf\xe9\nconst char *s = "\xe9\x80";\nfloat f(float x) { return x * 2; }\n'),
    ("ll", b'; caf\xe9\ndefine void @"f\xe9"(ptr %p) {\n  store i32 1, ptr %p ; \xe9\n  ret void\n}\n'),
    (
        "py",
        b"# coding: latin-1\nfrom weft import cuda\n\n\n@cuda.jit('void(float32[::1])')\n"
        b"def k(x):\n    # caf\xe9\n    x[cuda.grid(1)] = 1\n",
    ),
]


@pytest.mark.parametrize(("suffix", "data"), ODD_BYTES, ids=[suffix for suffix, _ in ODD_BYTES])
def test_bytes_that_are_no_utf_8_are_no_obstacle(suffix: str, data: bytes, tmp_path, capsys) -> None:
    file, out = tmp_path / f"odd.{suffix}", tmp_path / "odd.html"
    file.write_bytes(data)
    assert run(str(file), "--json") == 0
    assert json.loads(capsys.readouterr().out)["functions"]
    assert run(str(file)) == 0
    assert run(str(file), "--html", str(out)) == 0
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_certainly_divergent_barrier_is_status_1(write, capsys) -> None:
    assert run(write("bad.py", BAD_BARRIER), "--types", "void(float32[::1])") == 1
    out = capsys.readouterr().out
    assert "line 9" in out.replace("line 10", "line 9")
    assert "error: threads of a work-group wait at different barriers" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.ll"], "there is no file"),
        (["--width", "0", "t.ll"], "no number of lanes"),
        (["--args", "Q", "t.ll"], "cannot read 'Q'"),
        (["--types", "void()", "t.ll"], "--types is for .py files"),
        (["--scope", "planet", "t.ll"], "invalid choice"),
        (["t.txt"], "reads .py, .cu, .ptx, .cl, .ll, .bc, C and C++ files"),
        (["t.cl"], "t.cl defines no kernel"),
        (["--types", "void(int32)", "two.py"], "choose it with --function"),
    ],
)
def test_wrong_usage_is_status_2(arguments, message, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.ll").write_text(FOREIGN)
    (tmp_path / "t.cl").write_text("")
    (tmp_path / "t.txt").write_text("")
    (tmp_path / "two.py").write_text(KERNELS)
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


FUNCTION = """
import weft
@weft.jit
def fill(x):
    for i in weft.prange(x.size):
        x[i] = i
"""


def test_types_may_be_given_for_a_function(write, capsys) -> None:
    assert run(write("k.py", FUNCTION), "--types", "void(float32[::1])") == 0
    assert "contiguous" in capsys.readouterr().out
    assert run(write("k.py", FUNCTION + "g = weft.jit(fill.py_func)\n"), "--types", "void(float32[::1])") == 2
    assert "choose it with --function: fill, g" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("t.ll", "define void @f(", [], "weft:"),
        ("t.bc", "no bitcode", [], "LLVM refused"),
        ("t.ll", FOREIGN, ["--function", "nothing"], "it defines odd <name>, helper"),
        ("t.ll", FOREIGN, ["--function", "helper", "--args", "U_U_U"], "has 2 arguments"),
        ("k.py", KERNELS, ["--function", "scale"], "the argument types of scale(a, x) are not known"),
        ("k.py", KERNELS, ["--function", "nothing"], "it has scale, declared"),
        ("k.py", "x = 1\n", [], "defines no kernel"),
        ("k.py", FUNCTION, [], "the argument types of fill(x) are not known"),
        ("k.py", FUNCTION, [], 'give them: --function fill --types "void(float32[::1])"'),
        ("k.py", "x = 1 / 0\n", [], "importing the file raised ZeroDivisionError"),
    ],
)
def test_errors_of_input_are_status_1_and_say_what_to_do(
    name, text, arguments, message, write, capsys
) -> None:
    assert run(write(name, text), *arguments) == 1
    assert message in capsys.readouterr().err


def test_it_runs_as_a_command_and_ends_with_its_status(write) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weft", "analyze", write("t.ll", TRAVERSAL), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["functions"][0]["name"] == "traverse"


def test_c_is_shown_in_its_own_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "steps.c"
    source.write_text(
        "int steps(int n) {\n  int k = 0;\n  while (n > 1) {\n    n = n & 1 ? 3 * n + 1 : n / 2;\n    k++;\n  }\n"
        "  return k;\n}\n"
    )
    assert cli.main(["analyze", str(source), "--args", "T"]) == 0
    shown = capsys.readouterr().out
    assert "while (n > 1) {" in shown and "line 3" in shown
    assert "divergent: lanes leave it in different iterations" in shown


def test_what_clang_refuses_is_shown_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f(int n) {\n  return n +;\n}\n")
    assert cli.main(["analyze", str(source)]) == 1
    assert "wrong.c:2:13" in capsys.readouterr().err
