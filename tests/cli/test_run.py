"""``weft run`` and ``weft analyze`` on OpenCL C, from end to end."""

from pathlib import Path

import numpy as np
import pytest

from weft import cli

pytest.importorskip("ziglang")

SOURCE = """
kernel void turn(global const float *x, global float *y, local float *t, float2 scale) {
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x[0] < N) y[get_global_id(0)] = t[get_local_size(0) - 1 - l] * scale.y;
}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("turn.cl").write_text(SOURCE)
    np.save("x.npy", np.arange(64, dtype=np.float32))
    return "turn.cl"


RUN = ("--global", "64", "--local", "16", "--arg", "x.npy", "--arg", "out:float32:64", "--arg", "local:64")


@pytest.mark.parametrize("more", [("--width", "4", "--without", "narrowing", "--boscc", "off"), ("--debug",)])
def test_run_writes_what_the_kernel_computes(file: str, more: tuple[str, ...]) -> None:
    assert cli.main(["run", file, *RUN, "--arg", "1,2.5f", "--out", "1=y.npy", "--build=-DN=5", *more]) == 0
    wanted = 2.5 * np.arange(64).reshape(4, 16)[:, ::-1]
    np.testing.assert_array_equal(np.load("y.npy"), wanted.ravel())


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("none.cl", "--global", "1"), 2, "there is no file none.cl"),
        (("turn.cl", *RUN, "--arg", "what"), 2, "--arg what: no number, and no array"),
        (("turn.cl", *RUN, "--arg", "out:float99:3"), 2, "write out:DTYPE:SHAPE"),
        (("turn.cl", *RUN, "--arg", "1,2", "--out", "3=y.npy"), 2, "argument 3 is no array"),
        (("turn.cl", *RUN, "--arg", "1", "--build=-DN=5"), 1, "it is a float2"),
        (("turn.cl", *RUN, "--arg", "1,2", "--build=-DN=5", "--width", "3"), 1, "a width of 3"),
        (("turn.cl", *RUN, "--arg", "1,2"), 1, "undeclared identifier 'N'"),
    ],
)
def test_wrong_command_lines(
    file: str, arguments: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build = ("--build=-DN=5",) if status == 2 else ()
    assert cli.main(["run", *arguments, *build]) == status
    assert message in capsys.readouterr().err


def test_analyze_shows_source_lines(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", file, "--clang=-DN=5"]) == 0
    shown = capsys.readouterr().out
    assert "turn(float* x, float* y, float* t, float2 scale)" in shown
    assert "contiguous, uniform" in shown and "if (x[0] < N)" in shown
