"""Reading and writing lose nothing, on C compiled at several levels and on texts written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ir_equal import first_difference
from pairs import WHOLE
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module

HERE = Path(__file__).parent
C_FILES = sorted(p.stem for p in (HERE / "c").glob("*.c"))
LL_FILES = sorted(p.stem for p in (HERE / "ll").glob("*.ll"))
OPTIONS = ["-O0", "-O1", "-O2", "-O0 -g", "-O1 -g", "-O2 -g"]


def check_round_trip(text: str, normal_form: Callable[[str], str]) -> None:
    """read(write(m)) == m, the written text is stable, and LLVM sees the program it saw before."""
    module = read_module(text)
    verify(module)
    written = write_module(module, plain=True)
    again = read_module(written)
    assert first_difference(module, again) is None
    assert write_module(again, plain=True) == written
    assert normal_form(written) == normal_form(text)


# Each file in half of the ways, each way for half of the files.
WAYS = [(n, o) for k, n in enumerate(C_FILES) for m, o in enumerate(OPTIONS) if WHOLE or (k + m) % 2 == 0]


@pytest.mark.parametrize(("name", "options"), WAYS)
def test_compiled_c_survives(
    name: str, options: str, compiled: Callable[[str], dict[str, str]], normal_form: Callable[[str], str]
) -> None:
    check_round_trip(compiled(options)[name], normal_form)


@pytest.mark.parametrize("name", LL_FILES)
def test_handwritten_text_survives(name: str, normal_form: Callable[[str], str]) -> None:
    check_round_trip((HERE / "ll" / f"{name}.ll").read_text(), normal_form)


@pytest.mark.parametrize("name", LL_FILES)
def test_text_that_llvm_printed_survives(name: str, normal_form: Callable[[str], str]) -> None:
    check_round_trip(normal_form((HERE / "ll" / f"{name}.ll").read_text()), normal_form)


def test_the_sources_have_at_least_200_functions(compiled: Callable[[str], dict[str, str]]) -> None:
    modules = [read_module(text) for text in compiled("-O2").values()]
    assert sum(len(list(m.definitions())) for m in modules) >= 200


def test_values_without_a_name_keep_their_numbers(compiled: Callable[[str], dict[str, str]]) -> None:
    text = compiled("-O1")["loops"]
    body = text[text.index("@sum(") :]
    body = body[: body.index("\n}")]
    function = read_module(text).functions["sum"]
    shown = {f"%{i.name} = {i.op}" for i in function.instructions() if i.name}
    assert shown
    assert all(s in body for s in shown)


def test_a_comment_may_be_the_last_thing() -> None:
    text = "define void @f() {\n  ret void\n}\n"
    assert write_module(read_module(f"{text}; the end")) == write_module(
        read_module(f"; the start\n{text};;\n")
    )
