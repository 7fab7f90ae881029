"""docs/names.md has every name of the compiler's tables and of the host API."""

import builtins
import cmath
import math
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import weft.frontend.python.lowering  # noqa: F401  fills the tables
from weft import cuda
from weft.frontend.python.cuda_names import NAMES, CudaName
from weft.frontend.python.device_bfloat import CONVERSIONS
from weft.frontend.python.lowering.calls.registry import CALLS, METHODS
from weft.frontend.python.vector_types import VECTOR_TYPES

PAGE = (Path(__file__).parents[2] / "docs" / "names.md").read_text()
WORDS = {word for quoted in re.findall(r"`([^`]*)`", PAGE) for word in re.split(r"[\s(,)]+", quoted)}


def names_of(module, prefix: str) -> list[str]:
    found: list[str] = []
    for target in CALLS:
        if isinstance(target, CudaName) or (isinstance(target, type) and issubclass(target, np.generic)):
            continue
        known = [
            f"{prefix}{name}" for name, value in vars(module).items() if value is target and name[0] != "_"
        ]
        if known and not WORDS.intersection(known):
            found.append(known[0])
    return found


@pytest.mark.parametrize(
    ("module", "prefix"),
    [(builtins, ""), (math, ""), (cmath, ""), (operator, ""), (np, "np.")],
    ids=["builtins", "math", "cmath", "operator", "numpy"],
)
def test_functions(module, prefix) -> None:
    assert names_of(module, prefix) == []


def test_names_of_cuda() -> None:
    missing = []
    for path in NAMES:
        last = path.rpartition(".")[2]
        if (
            path in VECTOR_TYPES
            or last in "xyz"
            or path in ("atomic", "cg", "const", "local", "shared", "bf16")
        ):
            continue
        known = {f"cuda.{path}", path, last, last.removesuffix("f")}
        if path.removeprefix("bf16.") in CONVERSIONS:
            # Families, of which the page has a member each.
            known = {"bfloat162int_rz", "int16_to_bfloat16", "bfloat16_as_int16"}
        if path.startswith("libdevice.") and last.endswith("f"):
            known |= {last.removesuffix("f") + "d"}
        if not WORDS & known:
            missing.append(path)
    assert missing == []


def test_methods_and_the_host_api() -> None:
    assert [name for name in METHODS if name not in WORDS] == []
    known = ("host", "jit", "random", "Kernel", "DeviceFunction")
    assert [n for n in cuda.__all__ if f"cuda.{n}" not in WORDS and n not in known] == []
