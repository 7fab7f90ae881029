"""``weft vectorize`` as a new user meets it: what it says of files, functions and options that do not fit."""

from pathlib import Path

import pytest

from weft.cli import main

SOURCE = """
#include <stdlib.h>
float unknown(float);
float sum(float *restrict a, float *restrict b, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) { a[i] = b[i] * 2; s += a[i]; }
  return s;
}
int cycle(int a, int b) { int i = 0; if (a > b) goto in; out: i++; in: i += 2; if (i < a) goto out; return i; }
int variadic(int n, ...) { return n; }
int checked(int x) { if (x < 0) abort(); return x + 1; }
float outside(float x) { return unknown(x); }
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "scene.c").write_text(SOURCE)
    return str(tmp_path / "scene.c")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ("--function shade", 1, ["defines no function 'shade'", "sum, cycle, variadic, checked, outside"]),
        ("--function variadic", 1, ["scene.c:10:", "a variable number of arguments"]),
        ("--function outside --args X", 1, ["cannot read 'X'", "one of U, C, T, S<stride>"]),
        ("--function outside --args T_T", 1, ["outside has 1 parameters", "float x"]),
        ("--function outside --args C", 1, ["the parameter x is a float, which cannot be C"]),
        (
            "--function outside --width 128",
            1,
            ["128 lanes: the number of lanes is a power of two, at most 64"],
        ),
        ("--function outside --target avx9", 1, ["there is no target 'avx9'", "avx512, avx2"]),
        ("--function outside --args T_rU", 1, ["the result of outside differs from lane to lane"]),
        ("--function outside -o out.txt", 2, ["out.txt should end in one of .ll, .bc, .s, .o"]),
        ("--function outside -o nowhere/out.ll", 2, ["nowhere/out.ll cannot be written: No such file"]),
        (
            "--function outside --mask last --header x.h",
            1,
            ["C has no type for a parameter", "vectors of i1"],
        ),
        ("--function sum --loop for.cond --header x.h", 1, ["there is no declaration of a loop"]),
        ("--function sum --loop nope", 1, ["no loop with header 'nope'", "for.cond"]),
        ("--function sum --loop outermost", 0, ["stays scalar: a float sum", "allow it with fastmath"]),
        (
            "--function outside --args T --remarks",
            0,
            ["scene.c:12:", "the call of unknown runs once for each"],
        ),
    ],
)
def test_what_it_says(
    options: str, status: int, said: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["vectorize", file, *options.split()]) == status
    heard = capsys.readouterr().err
    assert all(text in heard for text in said), heard


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectorize", "nowhere.c", "--function", "f"]) == 1
    assert "there is no file nowhere.c" in capsys.readouterr().err


def test_what_ends_the_program_is_called_for_the_lanes_that_do(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["vectorize", file, "--function", "checked", "--args", "T", "--width", "8", "--name", "simd"])
        == 0
    )
    assert "@abort()" in capsys.readouterr().out.partition("@simd(")[2].partition("\n}")[0]


def test_text_that_llvm_refuses_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.ll").write_text("define float @f(float %x) {\n  ret float %y\n}\n")
    assert main(["vectorize", str(tmp_path / "bad.ll"), "--function", "f"]) == 1
    assert "bad.ll:2:13: LLVM refused the module: use of undefined value" in capsys.readouterr().err
