"""LLVM text to read: compiled from the C sources in ``c/``, and written by hand in ``ll/``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """The C sources as LLVM text by file name, for a string of clang options; one clang process for all."""
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    done: dict[str, dict[str, str]] = {}

    def compile_all(options: str) -> dict[str, str]:
        if options not in done:
            folder = tmp_path_factory.mktemp("clang")
            sources = sorted((HERE / "c").glob("*.c"))
            command = [sys.executable, "-m", "ziglang", "clang", "-S", "-emit-llvm", "-w", *options.split()]
            subprocess.run([*command, *map(str, sources)], cwd=folder, check=True)
            done[options] = {s.stem: (folder / f"{s.stem}.ll").read_text() for s in sources}
        return done[options]

    return compile_all


@pytest.fixture(scope="session")
def normal_form() -> Callable[[str], str]:
    """What LLVM prints for a text after its parser and verifier accepted it, without the module's name."""

    def normalize(text: str) -> str:
        module = llvm.parse_assembly(text, context=llvm.create_context())
        module.verify()
        return str(module).partition("\n")[2]

    return normalize
