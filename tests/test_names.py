"""What `weft` itself has names for, and what importing it costs."""

import subprocess
import sys

import pytest

import weft
from weft import types


def test_types_have_their_names_at_the_top_as_well():
    assert weft.float32 is types.float32
    assert weft.void is types.void


def test_a_name_that_nothing_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match="flaot32"):
        _ = weft.flaot32


def test_importing_weft_loads_neither_numpy_nor_llvm():
    loaded = "import sys, weft; print('numpy' in sys.modules, 'llvmlite' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_the_doors_load_llvm_and_the_compiler_when_they_compile():
    loaded = (
        "import sys, weft; from weft import cuda; weft.jit, weft.vectorize; loaded = sys.modules;"
        "print('llvmlite' in loaded, 'weft.ir.reader' in loaded)"
    )
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
