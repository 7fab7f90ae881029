"""Libraries made ahead of time, used by C, by C++ and by Python without weft."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from aot.sources import OPENCL, PYTHON, USE, C
from weft.aot.build import build, levels_named
from weft.aot.importing import import_file
from weft.aot.worker import Worker
from weft.cli import main
from weft.errors import ArgumentError, CompileError, WeftError
from weft.machine.host import host

LEVELS = ("x86-64", "x86-64-v3")
ALONE = """
import sys


class NoCompiler:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("weft", "llvmlite"):
            raise ImportError(name)


sys.meta_path.insert(0, NoCompiler())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A library of kernels and functions in Python."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "kernels.txt.py").write_text(PYTHON)
    build(folder / "kernels.txt.py", folder / "made", levels=LEVELS, stem="kernels")
    return folder / "made"


def runnable() -> list[str]:
    """The levels that this machine has."""
    return [level for level in LEVELS if level == "x86-64" or {"avx2", "fma"} <= host().features]


def python(code: str, folder: Path, level: str = "") -> str:
    """What a program in Python prints that finds the library in a folder, and neither weft nor llvmlite."""
    environment = {**os.environ, "PYTHONPATH": str(folder), **({"WEFT_CPU": level} if level else {})}
    command = [sys.executable, "-c", ALONE + code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(folder: Path, name: str, text: str, library: str) -> Path:
    """A program in C or C++ that is linked with the library."""
    (folder / name).write_text(text)
    cplusplus = name.endswith(".cpp")
    found = shutil.which("c++" if cplusplus else "cc")
    zig = [sys.executable, "-m", "ziglang", "c++" if cplusplus else "cc", "-target", "x86_64-linux-gnu"]
    command = [found] if found else zig
    options = ["-Wall", "-Werror", "-I.", "-L.", f"-l{library}", f"-Wl,-rpath,{folder}", "-o", "program"]
    done = subprocess.run([*command, name, *options], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program"


@pytest.mark.parametrize("name", ["use.c", "use.cpp"])
def test_programs_in_c_and_c_plus_plus(folder, name) -> None:
    program = compiled(folder, name, USE, "kernels")
    for level in runnable():
        done = subprocess.run(
            [program], capture_output=True, text=True, env={**os.environ, "WEFT_CPU": level}, check=False
        )
        wanted = "scaled 3 0.5 True -0.1 1e+22 2e-07 0.3333333333333333\ndone\n"
        assert (done.returncode, done.stdout) == (0, wanted), (level, done.stderr)


CALLS = """
import numpy as np, kernels
x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
kernels.saxpy[8, 128](2.0, x, y)
assert (y == 2 * x + 1).all()
d, sums = np.arange(1 << 16) % 7 * 1.0, np.zeros(512)
kernels.block_sums[(512,), (128, 1)](d, sums)
assert sums.sum() == d.sum() == kernels.total(d)
assert kernels.first_above(x.reshape(10, 100).T[::3], 5) == (2, 6.0, True)
assert kernels.first_above(x.reshape(10, 100), 5000)[2] is False
v = np.linspace(-1, 1, 1001)
wanted = np.where(v > 0, np.exp(-v * v) + v[::-1], v[::-1])
assert type(kernels.smooth) is np.ufunc and kernels.smooth.types == ["ff->f", "dd->d"]
np.testing.assert_allclose(kernels.smooth(v, v[::-1]), wanted, rtol=1e-12)
np.testing.assert_allclose(kernels.smooth(v[::-2], v[::2]), wanted[::-2], rtol=1e-12)
assert kernels.smooth.outer(v[:3], v[:2]).shape == (3, 2)
assert kernels.smooth(np.float32(-1), np.ones((3, 4), np.float32)).dtype == np.float32
a, b = x[:12].reshape(3, 4), np.zeros((4, 3), np.float32).T
kernels.scaled[(1, 1), (4, 4)]((a, b), (2, 0.5))
assert (b == 2 * a + 0.5).all()
assert abs(kernels.turned(1 + 2j, 0.5) - (1 + 2j) * np.exp(0.5j)) < 1e-15
assert kernels.thinned(d[:10], 2).tolist() == [0, 6, 12, 4]
assert kernels.thinned(d[:0], 2).shape == (0,)
more, first = kernels.plus_one(np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::2])
assert more.tolist() == [[1, 3], [4, 6]] and more.flags.c_contiguous and first == 0.0
more[0, 0] = 5
for wrong, kind in (
    (lambda: kernels.thinned(d, 0), ValueError),
    (lambda: kernels.scaled[1, 1]((a, b, b), (2, 0.5)), TypeError),
    (lambda: kernels.scaled[1, 1](a, (2, 0.5)), TypeError),
):
    try:
        wrong()
    except kind as error:
        print(error)
print("done")
"""
SAID = """scaled 2 0.5 True -0.1 1e+22 2e-07 0.3333333333333333
by is at least 1
argument 'arrays' of scaled is a tuple of 2, not one of 3
argument 'arrays' of scaled is a tuple of 2, not ndarray
done
"""


def test_python_without_weft(folder) -> None:
    for level in runnable():
        assert python(CALLS, folder, level) == SAID


WRONG = """
import numpy as np, kernels
x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
frozen = y.copy()
frozen.flags.writeable = False
for grid, block, args in (
    (1, 10, (2.0, x.astype(float), y)),
    (1, 10, (2.0, x[::2], y)),
    (1, 10, (2.0, x, frozen)),
    (1, 10, (2.0, x)),
    (1, 2000, (2.0, x, y)),
    ((1, 1, 1, 1), 1, (2.0, x, y)),
):
    try:
        kernels.saxpy[grid, block](*args)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
try:
    kernels.apart[1, 4](np.full(4, 2, np.int32))
except RuntimeError as error:
    print(type(error).__name__, error)
"""


def test_what_does_not_fit_is_refused_by_name(folder) -> None:
    lines = python(WRONG, folder).splitlines()
    assert [line.split()[0] for line in lines] == [*["TypeError"] * 4, *["ValueError"] * 2, "RuntimeError"]
    assert "argument 'x' of saxpy is an array of float32 of 1 dimensions, not float64 of 1" in lines[0]
    assert "threads of a block wait at different barriers" in lines[-1]


def test_a_wheel_of_it_installs_and_runs(folder, tmp_path) -> None:
    wheel = tmp_path / "kernels_of_weft-1.0-py3-none-manylinux_2_28_x86_64.whl"
    info = "kernels_of_weft-1.0.dist-info"
    files = {
        "kernels_of_weft/__init__.py": (folder / "kernels.py").read_bytes(),
        "kernels_of_weft/libkernels.so": (folder / "libkernels.so").read_bytes(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: kernels-of-weft\nVersion: 1.0\nRequires-Dist: numpy\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n",
    }
    record = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--target",
        tmp_path / "site",
    ]
    done = subprocess.run([*command, wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert python(CALLS.replace("kernels", "kernels_of_weft"), tmp_path / "site") == SAID


def test_functions_of_c_have_one_state_whatever_the_level(tmp_path) -> None:
    (tmp_path / "shapes.c").write_text(C)
    made = build(tmp_path / "shapes.c", tmp_path / "made", levels=LEVELS)
    assert made.stub is None and made.names == ("apply", "dot", "count")
    library = ctypes.CDLL(str(made.library))
    library.dot.restype = ctypes.c_double
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    for _ in range(2):
        library.apply(ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(x.ctypes.data), 100)
    np.testing.assert_allclose(y, x * x + 1 + np.sqrt(x), rtol=1e-6)
    a = np.arange(5.0)
    place = ctypes.c_void_p(a.ctypes.data)
    assert library.dot(place, place, ctypes.c_long(5)) == 30
    assert library.count() == 2
    assert "double dot(void * a, void * b, int64_t n);" in made.header.read_text()
    with pytest.raises(AttributeError):
        _ = library.calls


def test_kernels_in_opencl_c_with_local_memory_and_constants(tmp_path) -> None:
    (tmp_path / "blur.cl").write_text(OPENCL)
    made = build(tmp_path / "blur.cl", tmp_path / "made", levels=("x86-64",))
    assert made.names == ("blur",)
    code = """
import numpy as np, blur
x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
blur.blur[4, 64](x, y, 256, 64 * 4)
print(y[:3], y[63:65])
"""
    assert python(code, tmp_path / "made") == "[1.25 2.   3.  ] [48.   49.25]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import numpy as np\nfrom weft import cuda, types\nP = np.dtype([('a', 'i4')])\n"
            "@cuda.jit((types.from_dtype(P)[::1],))\ndef f(p):\n    p[0].a = 1\n",
            "argument 'p' is of type",
        ),
        (
            "import weft\n@weft.vectorize(['float64(float64)'])\ndef f(x):\n    if x < 0:\n"
            "        raise ValueError('negative')\n    return x\n",
            "f raises errors",
        ),
    ],
)
def test_what_cannot_be_in_a_library(text, said, tmp_path) -> None:
    (tmp_path / "k.py").write_text(text)
    with pytest.raises(WeftError, match=said):
        Worker(tmp_path, "v1").python(import_file(tmp_path / "k.py"), [])


def test_an_error_of_a_level_is_the_compilers(tmp_path) -> None:
    (tmp_path / "k.py").write_text("from weft import cuda\n@cuda.jit\ndef f(x):\n    x[0] = 1\n")
    with pytest.raises(CompileError, match=r"cannot be built for x86-64:\s.*has nothing to build"):
        build(tmp_path / "k.py", tmp_path / "made", levels=("x86-64",))


def test_levels_have_short_names() -> None:
    assert levels_named("v4, x86-64-v2,v1") == ("x86-64", "x86-64-v2", "x86-64-v4")
    with pytest.raises(ArgumentError, match="no level 'v9'"):
        levels_named("v9")


def test_the_command_writes_what_it_says(tmp_path, capsys) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        "from weft import cuda\n@cuda.jit('void(int32[::1])')\ndef f(x):\n    x[cuda.grid(1)] = 1\n"
    )
    assert main(["build", str(file), "-o", str(tmp_path / "made"), "--cpu", "x86-64"]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.split()] == ["libk.so", "k.h", "k.py"]
    assert main(["build", str(file), "-o", str(tmp_path), "--cpu", "x86-64"]) == 1
    assert "would be written over" in capsys.readouterr().err
    assert main(["build", str(file), "-o", str(tmp_path), "--name", "numbers"]) == 1
    assert "a module of Python's own" in capsys.readouterr().err
    assert "@cuda.jit" in file.read_text()
