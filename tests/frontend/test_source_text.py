"""What is compiled is what was imported: text edited since then is refused, what import hooks make of it is not."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import os
import subprocess
import sys
import types
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import SourceError
from weft.frontend.python.source import get_source

MODULE = """
from weft import cuda

def helper(a):
    return a * 2

@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    x[i] = helper(x[i]) + 1

adders = [lambda a: a + 1, lambda a: a + 2]

class Holder:
    def make(self, amount):
        def inner(a):
            return a + amount
        return inner
"""


def imported(path: Path, text: str = MODULE) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    return imported(tmp_path / "edited.py")


def functions(module: ModuleType) -> list:
    return [module.kernel.py_func, module.helper, *module.adders, module.Holder().make(3)]


def test_functions_of_all_kinds_are_found(module: ModuleType) -> None:
    assert [get_source(function).node.lineno for function in functions(module)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a * 2", "a * 3"),
        ("a * 2", "a + 2"),
        ("a * 2", "a *  2"),
        ("    return a * 2", "   return a * 2\n  if"),
        ("    return a * 2", "return a * 2"),
        ("def helper(a):", "def helper(b):"),
        ("def helper(a):", "def other(a):"),
        ("def helper(a):", "\ndef helper(a):"),
        (MODULE, ""),
        (MODULE, "\0"),
    ],
)
def test_an_edited_function_is_refused(module: ModuleType, old: str, new: str) -> None:
    Path(module.__file__).write_text(MODULE.replace(old, new))
    with pytest.raises(SourceError, match=r"helper\(\)"):
        get_source(module.helper)


def test_an_edited_function_does_not_run_as_another_program(module: ModuleType) -> None:
    Path(module.__file__).write_text(MODULE.replace("a * 2", "a - 2"))
    x = np.ones(8, np.float32)
    with pytest.raises(SourceError, match="has changed since it was imported") as caught:
        module.kernel[1, 8](x)
    assert caught.value.span is not None
    assert "import its module again" in str(caught.value)
    # What was put back is what was imported.
    Path(module.__file__).write_text(MODULE)
    module.kernel[1, 8](x)
    assert x.tolist() == [3] * 8


def test_an_edit_elsewhere_in_the_file_does_no_harm(module: ModuleType) -> None:
    Path(module.__file__).write_text(MODULE.replace("a + amount", "a - amount") + "more = 1\n")
    assert get_source(module.helper).node.lineno == 1


def test_a_file_that_is_gone_is_remembered_while_its_lines_are_known(module: ModuleType) -> None:
    linecache.getlines(module.__file__)
    os.unlink(module.__file__)
    get_source(module.helper)
    linecache.checkcache(module.__file__)
    module.Holder.make.__code__ = module.Holder.make.__code__.replace()
    with pytest.raises(SourceError, match="cannot be found"):
        get_source(module.Holder().make(2))


@pytest.mark.parametrize("door", [weft.jit, weft.vectorize])
def test_each_door_refuses_an_edited_function(tmp_path: Path, door) -> None:
    module = imported(tmp_path / "doors.py")
    function = door(module.helper)
    Path(module.__file__).write_text(MODULE.replace("a * 2", "a * 5"))
    with pytest.raises(SourceError):
        function(np.ones(4) if door is weft.vectorize else 1.0)


def test_code_that_an_import_hook_has_rewritten_is_compiled() -> None:
    """As here: pytest makes another program of an assert."""

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        assert x[i] >= 0, "negative"
        x[i] += 1

    assert "@pytest_ar" in kernel.py_func.__code__.co_names
    x = np.zeros(4, np.float32)
    kernel[1, 4](x)
    assert x.tolist() == [1] * 4


def test_cells_of_a_notebook_are_known_to_linecache_alone() -> None:
    text, name = "def cell(a):\n    return a + 1\nawait ready\n", "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    flags = annotations_flag() | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    (cell,) = (c for c in compile(text, name, "exec", flags).co_consts if isinstance(c, types.CodeType))
    assert get_source(types.FunctionType(cell, {})).node.lineno == 1
    with pytest.raises(SourceError):
        get_source(types.FunctionType(cell.replace(co_code=cell.co_code[:-2]), {}))


def test_statements_of_a_cell_may_be_compiled_one_by_one() -> None:
    text, name = "import weft\n\ndef cell(n):\n    return weft.prange(n)\n", "<cell 2>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    _, definition = ast.parse(text).body
    (cell,) = (
        c
        for c in compile(ast.Module([definition], []), name, "exec").co_consts
        if isinstance(c, types.CodeType)
    )
    assert get_source(types.FunctionType(cell, {})).node.lineno + 2 == 3


def annotations_flag() -> int:
    import __future__

    return __future__.annotations.compiler_flag


PROGRAM = '''
import numpy as np, weft
@weft.jit
def count(n):
    """What it does."""
    assert n > 0
    return n + 1
print(count(3))
'''


def test_optimizing_pythons_compile_what_they_imported(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-OO", str(file)]
    assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout == b"4\n"


def test_byte_code_that_was_written_without_columns(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    program = "import module, numpy; x = numpy.ones(4); module.kernel[1, 4](x); print(*x)"
    for flags in (["-X", "no_debug_ranges"], []):
        command = [sys.executable, *flags, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=tmp_path)
        assert done.stdout.split() == [b"3.0"] * 4
    assert list(tmp_path.glob("__pycache__/*"))
