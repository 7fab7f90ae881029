"""Runs what was written of a loop: a module as its own function for the host does, a program as its comments say."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from sequential.opencl_host import KINDS, run_host
from weft import opencl
from weft.aot.importing import import_file
from weft.loops.emission.source import EmittedKernel, EmittedSource


def run_cuda(emitted: EmittedSource, given: dict[str, Any]) -> dict[str, Any]:
    """Run the functions for the host of a module; the numbers that they return, by the names of the program."""
    found: dict[str, Any] = {}
    module, _ = _module(emitted.text)
    for kernel in emitted.kernels:
        result = getattr(module, kernel.launcher)(
            *(given[p if p in given else p.removesuffix("_")] for p in kernel.parameters)
        )
        values = result if isinstance(result, tuple) else (result,)
        found.update(zip(kernel.results, values if kernel.results else (), strict=True))
    return found


@lru_cache(maxsize=16)
def _module(text: str) -> tuple[ModuleType, TemporaryDirectory[str]]:
    """The module, compiled once for arguments of all sizes, and where its file is as long as it is used."""
    folder = TemporaryDirectory()
    file = Path(folder.name) / "kernels.py"
    file.write_text(text)
    return import_file(file), folder


@lru_cache(maxsize=16)
def _program(text: str) -> opencl.Program:
    return opencl.Program(text)


def run_opencl(emitted: EmittedSource, given: dict[str, Any]) -> dict[str, Any]:
    """Make buffers, launch the kernels of one loop after the other, and take results, as comments say."""
    found: dict[str, Any] = {}
    program = _program(emitted.text)
    rest = emitted.text
    for loop in emitted.kernels:
        known = dict(given)
        about = rest.partition(f"kernel void {loop.name}(")[0]
        if "// The host does this:" in about:
            found.update(_run_host(emitted, loop, program, about, known))
            continue
        for name, text in re.findall(r"^// (blocks\w*) is (.*)\.$", about, re.M):
            known[name] = _value(text, known)
        pattern = r"^// Make (\w+): (\w+)\[(.*?)\](?:, first (.*))?\.$"
        for name, kind, length, first in re.findall(pattern, about, re.M):
            known[name] = np.full(_value(length, known), _value(first, known) if first else 77, KINDS[kind])
        for name, parameters in loop.kernels:
            before, _, rest = rest.partition(f"kernel void {name}(")
            _launch(getattr(program, name), before, [known[p.removesuffix("_")] for p in parameters], known)
        pattern = r"^// Then (\w+) is (\w+)\[0\](?:, (.*) where there is none)?\.$"
        for name, array, none in re.findall(pattern, about, re.M):
            found[name] = None if none and known[array][0] == _value(none, known) else known[array][0]
    return found


def _run_host(
    emitted: EmittedSource, loop: EmittedKernel, program: Any, about: str, known: dict[str, Any]
) -> dict[str, Any]:
    """Let the host do what the comments before the first kernel say."""
    names = [n for n, _ in loop.kernels]
    locals_ = {n: _local(emitted.text.partition(f"kernel void {n}(")[0]) for n in names}

    def launch(name: str, size: tuple[int, ...], arguments: list[Any]) -> None:
        block = locals_[name]
        if min(size) > 0:
            whole = tuple(-(-e // b) * b for e, b in zip(size, block, strict=False))
            getattr(program, name)(whole, block, *arguments)

    result = run_host(emitted.text[emitted.text.index(about) :], names, known, launch)
    return {} if result is None else {loop.results[0] if loop.results else "result": result}


def _local(before: str) -> tuple[int, ...]:
    found = re.findall(r"local size(?: of)? ([\d, ]+)\.", before)[-1]
    return tuple(map(int, found.split(", ")))


def _launch(kernel: Any, before: str, arguments: list[Any], known: dict[str, Any]) -> None:
    """Launch a kernel as the comments before it say."""
    sizes = re.findall(
        r"^// Global size: (.*), (?:rounded up to the )?local size(?: of)? ([\d, ]+)\.", before, re.M
    )
    text, local = sizes[-1]
    extents = _value(f"({text},)", known)
    block = tuple(map(int, local.split(", ")))
    if min(extents) > 0:
        kernel(tuple(-(-e // b) * b for e, b in zip(extents, block, strict=True)), block, *arguments)


def _value(text: str, known: dict[str, Any]) -> Any:
    """What an expression of integers in C is."""
    text = re.sub(r"\((?:u?long|u?int)\)", "", text).replace("/", "//")
    return eval(text, {"min": min, "max": max}, known)
