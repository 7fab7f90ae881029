"""``weft loops --profile``: what a run shows, beside what the analysis proves."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from weft.cli.loops import add_parser
from weft.diag.errors import WeftError

C_FILE = """\
void scale(int n, double *restrict a) {
  for (int i = 0; i < n; i++)
    a[i] *= 2;
}
void gather(int n, int *at, double *a, double *b) {
  for (int i = 0; i < n; i++)
    b[at[i]] = a[i];
}
void shifted(int n, int d, double *a) {
  for (int i = d; i < n; i++)
    a[i] = a[i - d] + 1;
}
void twice(int n, double *a) {
  for (int i = 0; i < n; i++) {
    double t[2];
    t[0] = a[i];
    t[1] = t[0];
    a[i] = t[1];
  }
}
"""
DRIVER = """\
#include <stdio.h>
#include <stdlib.h>
void scale(int, double *), gather(int, int *, double *, double *), shifted(int, int, double *), twice(int, double *);
int main(void) {
  double *a = malloc(40 * sizeof *a), b[40];
  int at[40];
  for (int i = 0; i < 40; i++) { a[i] = i; at[i] = 39 - i; }
  for (int k = 0; k < 3; k++) { scale(40, a); twice(10 * (k + 1), a); }
  gather(40, at, a, b);
  shifted(40, 3, a);
  printf("%d %.1f %s\\n", 7, b[39], "ends");
  free(a);
  return 0;
}
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    import argparse

    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["loops", *arguments])
    assert options.run(options) == 0
    out = capsys.readouterr()
    return out.out, out.err


def loops(text: str) -> dict[str, dict[str, Any]]:
    import json

    return {loop["function"]: loop for loop in json.loads(text)["loops"]}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    (tmp_path / "kernels.c").write_text(C_FILE)
    (tmp_path / "driver.c").write_text(DRIVER)
    return str(tmp_path / "kernels.c"), str(tmp_path / "driver.c")


def test_c_with_a_driver(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, files[0], "--profile", files[1], "--json")
    assert err == "7 0.0 ends\n"
    found = loops(out)
    assert set(found) == {"scale", "gather", "shifted", "twice"}
    seen = {name: loop["observed"] for name, loop in found.items()}
    assert seen["scale"]["runs"] == 3 and seen["scale"]["iterations"] == {
        "least": 40,
        "most": 40,
        "mean": 40.0,
    }
    assert seen["twice"]["iterations"] == {"least": 10, "most": 30, "mean": 20.0}
    # What each iteration has of its own meets nothing.
    assert seen["twice"]["dependences"] == [] and found["twice"]["verdict"] == "parallel"
    # The analysis cannot know where at leads; in the run all elements were different.
    assert found["gather"]["verdict"] == "sequential" and seen["gather"]["dependences"] == []
    (flow,) = seen["shifted"]["dependences"]
    assert flow == {"kind": "flow", "from": 11, "to": 11, "distance": [3, 3], "times": 34}
    assert sum(s["share"] for s in seen.values()) < 1


def test_instantiation_from_a_run(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, files[0], "--profile", files[1], "--instantiate", "--function", "scale")
    assert "scale: n is 40  40 iterations of line 2" in out
    assert "out a, bytes [0, 320)" in out
    # The loop of twice has had different numbers of iterations, which say nothing of n.
    out, _ = run(capsys, files[0], "--profile", files[1], "--instantiate", "--function", "twice")
    assert "n is" not in out and "10 to 30 iterations" in out


def test_a_file_that_has_main_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    file = tmp_path / "whole.c"
    file.write_text(C_FILE + "int main(int n, char **v) { double a[4] = {0}; scale(n + 3, a); return 0; }\n")
    out, _ = run(capsys, str(file), "--profile", str(file))
    assert "run: once, 4 iterations" in out
    assert "run: it was not reached" in out
    file.write_text(C_FILE)
    with pytest.raises(WeftError, match="no function main"):
        run(capsys, str(file), "--profile", str(file))


def test_python_takes_the_calls_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop.py").write_text(
        "import weft\n"
        "def saxpy(a, x, y):\n"
        "    for i in range(x.size):\n"
        "        y[i] += a * x[i]\n"
        "@weft.jit\n"
        "def prefix(x):\n"
        "    for i in range(1, x.size):\n"
        "        x[i] += x[i - 1]\n"
    )
    script = tmp_path / "uses.py"
    script.write_text(
        "import numpy as np\n"
        "from shop import saxpy, prefix\n"
        "x = np.ones(9)\n"
        "saxpy(2.0, x, np.zeros(9)); saxpy(1.0, x, np.zeros(9))\n"
        "saxpy(1.0, x.astype('f4'), np.zeros(9, 'f4'))\n"
        "prefix(x)\n"
        "print(x[8])\n"
    )
    out, err = run(capsys, str(tmp_path / "shop.py"), "--profile", str(script))
    assert err == "9.0\n"
    assert out.count("line 3: parallel") == 2
    assert "run: twice" not in out and "run: 2 times, 9 iterations" in out
    assert (
        "run: once, 8 iterations" in out and "written, then read, in lines 8 and 8, 1 iteration later" in out
    )
    script.write_text("print('nothing')\n")
    with pytest.raises(WeftError, match="calls no function"):
        run(capsys, str(tmp_path / "shop.py"), "--profile", str(script))
    script.write_text("raise ValueError('no')\n")
    with pytest.raises(WeftError, match="raises ValueError: no"):
        run(capsys, str(tmp_path / "shop.py"), "--profile", str(script))
