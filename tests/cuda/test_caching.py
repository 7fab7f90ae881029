"""Compiled kernels on disk: found again when nothing differs that matters, never trusted when damaged."""

import os
import subprocess
import sys

import numpy as np
import pytest

import weft
from cuda.kernels import ones, scale
from weft import cuda
from weft.runtime.cache import default_cache

SIGNATURE = "void(float32, float32[::1])"


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WEFT_CHECK", "0")


def compiled(function, signature=SIGNATURE, **options):
    return cuda.jit(**options)(function).compile(signature)


def adder(amount, helper):
    def add(x):
        i = cuda.grid(1)
        x[i] = helper(x[i]) + amount

    return add


def double(value):
    return value * 2


def triple(value):
    return value * 3


def result(function):
    kernel = cuda.jit(function)
    x = ones()
    kernel[1, 8](x)
    (code,) = kernel.overloads.values()
    return x[0], code.from_cache


def test_the_same_kernel_is_found_again():
    assert not compiled(scale).from_cache
    again = compiled(scale)
    assert again.from_cache
    assert again.timings.as_dict() == {"frontend": 0.0, "passes": 0.0, "llvm": 0.0}


@pytest.mark.parametrize("options", [{"fastmath": True}, {"width": 4}])
def test_other_options_are_other_code(options):
    compiled(scale)
    assert not compiled(scale, **options).from_cache
    assert compiled(scale, **options).from_cache


def test_other_types_are_other_code():
    compiled(scale)
    assert not compiled(scale, "void(float32, float32[:])").from_cache


def test_closure_values_and_called_functions_are_part_of_the_key():
    assert result(adder(5, double)) == (7, False)
    assert result(adder(6, double)) == (8, False)
    assert result(adder(6, triple)) == (9, False)
    assert result(adder(5, double)) == (7, True)


def test_functions_called_by_functions_are_part_of_the_key():
    def calls(inner):
        return lambda value: inner(value) + 1

    assert result(adder(0, calls(double))) == (3, False)
    assert result(adder(0, calls(triple))) == (4, False)
    assert result(adder(0, calls(double))) == (3, True)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: data[:-1] + b"?", lambda _: b""]
)
def test_a_damaged_entry_is_compiled_again(tmp_path, damage):
    assert result(adder(5, double)) == (7, False)
    for file in tmp_path.rglob("*.weft"):
        file.write_bytes(damage(file.read_bytes()))
    assert result(adder(5, double)) == (7, False)
    assert result(adder(5, double)) == (7, True)


def test_an_entry_that_cannot_be_linked_is_compiled_again():
    class Garbage:
        def __init__(self, entry):
            self.code, self.metadata = b"no object file", entry.metadata

    assert result(adder(5, double)) == (7, False)
    cache = default_cache()
    for file in cache.directory.rglob("*.weft"):
        key = file.parent.name + file.stem
        entry = cache.get(key)
        if "barrier_lines" in entry.metadata:
            cache.put(key, Garbage(entry))
    assert result(adder(5, double)) == (7, False)


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="compile cache cannot be written"):
        assert result(adder(5, double)) == (7, False)


def test_the_cache_can_be_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    compiled(scale)
    assert not compiled(scale).from_cache
    assert not list(tmp_path.rglob("*.weft"))


def test_arrays_and_constants_of_the_module_are_part_of_the_key(monkeypatch):
    table = np.arange(4, dtype=np.float32)

    def look_up(x):
        x[0] = table[2]

    assert result(look_up) == (2, False)
    table = table + 1
    assert result(look_up) == (3, False)


def sums(x, out):
    s = cuda.shared.array(64, dtype=np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t * 3]
    cuda.syncthreads()
    out[t] = s[cuda.blockDim.x - 1 - t]


def test_remarks_come_with_the_code():
    kernels = [cuda.jit(sums) for _ in range(2)]
    first, second = (kernel.compile("void(float32[::1], float32[::1])") for kernel in kernels)
    assert second.from_cache
    assert any("across this barrier" in remark.message and remark.span.line for remark in first.remarks)
    assert [str(remark) for remark in second.remarks] == [str(remark) for remark in first.remarks]
    assert kernels[1].remarks == kernels[0].remarks != []


def test_code_that_no_launch_needs_is_not_made():
    x, out = np.arange(12, dtype=np.float32), np.zeros(4, np.float32)
    kernels = [cuda.jit(sums) for _ in range(2)]
    for kernel in kernels:
        kernel[1, 4](x, out)
        assert out.tolist() == x[9::-3].tolist()
    (first,), (second,) = (kernel.overloads.values() for kernel in kernels)
    assert not first.is_ready and not second.is_ready
    assert first.timings.passes and not second.timings.passes
    (version,) = kernels[1]._specializations.made.values()
    assert version.from_cache
    kernels[1][1, 64](np.zeros(192, np.float32), np.zeros(64, np.float32))
    assert second.is_ready and not second.from_cache


@pytest.mark.spread
@pytest.mark.parametrize("order", [(False, True), (True, False)])
@pytest.mark.parametrize("fields", [[("a", "i1"), ("b", "i4")], [("a", "i4"), ("b", "f4")]])
def test_structures_that_differ_in_their_layout_have_code_of_their_own(fields, order):
    def total(x, out):
        for i in range(x.size):
            out[0] += x[i].a + x[i].b

    for aligned in order:
        dtype = np.dtype(fields, align=aligned)
        # Where a packed structure may lie, an aligned one may not.
        data = np.zeros(4 * dtype.itemsize + 1, np.uint8)[0 if aligned else 1 :]
        x = data[: 4 * dtype.itemsize].view(dtype)
        x["a"], x["b"] = 1, range(4)
        out = np.zeros(1)
        weft.jit(total)(x, out)
        assert out[0] == 10
        cuda.jit(total)[1, 1](x, out)
        assert out[0] == 20


PROGRAM = """
import enum
import numpy as np
import weft
from weft import cuda
import package.consts

class Cfg: N = {class_attribute}
class Color(enum.Enum): RED = {member}

def keyword(a, *, k={keyword}):
    return a + k

@cuda.jit
def kernel(x):
    x[0] = Cfg.N
    x[1] = Color.RED.value
    x[2] = package.consts.G
    x[3] = keyword(0)

x = np.zeros(4)
kernel[1, 1](x)
y = weft.vectorize(lambda a: a + Cfg.N + Color.RED.value + package.consts.G + keyword(0))(np.zeros(1))
print(*x, *y, *kernel.timings.values())
"""


def test_another_process_runs_no_stale_code(tmp_path):
    """What is edited has the same byte code in front of it and behind it."""
    (tmp_path / "package").mkdir()

    def run(values):
        (tmp_path / "package" / "consts.py").write_text(f"G = {values['submodule']}\n")
        (tmp_path / "program.py").write_text(PROGRAM.format(**values))
        environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, str(tmp_path / "program.py")]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        *results, frontend, _, _ = map(float, done.stdout.split())
        assert results == [*values.values(), sum(values.values())]
        return frontend == 0

    parts = {"class_attribute": 1, "member": 2, "submodule": 3, "keyword": 4}
    assert not run(parts)
    assert run(parts)
    for names in (("class_attribute", "submodule"), ("member", "keyword")):
        parts |= {name: parts[name] + 5 for name in names}
        assert not run(parts)
