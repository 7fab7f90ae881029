"""LLVM's uniformity analysis beside ours, on the same program for AMD's GPUs.

The printer of LLVM's answer is in ``opt``, which llvmlite does not have (Debian: ``llvm-19``). The target is amdgcn:
on nvptx LLVM calls even block ids divergent. Uniform to LLVM is what a wave agrees on: consecutive threads of a group
of any shape, so all thread ids are sources of divergence. The same set of threads is ours with `dimension` None. In
lane groups along x, which is what weft compiles kernels without warp operations for, y and z are uniform besides.

Of a pointer into a thread's own stack object LLVM's answer is about the offset; ours too, then (`place_shape`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.amdgcn import CannotTranslateError, translate
from bench.kernels import CompiledSource
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.ir import Function
from weft.ir.types import VOID
from weft.ir.writer import write_module
from weft.report.kernels import kernel_program

WAVE = 64
OPT_NAMES = ("opt-19", "opt-20", "opt-18", "opt")
_DEFINITION = re.compile(r'^(?P<mark>  DIVERGENT:|            )\s*%(?P<name>[-\w$.]+|"[^"]+") = ')
_BLOCK = re.compile(r"^BLOCK (?P<name>\S+)")
_TERMINATOR = re.compile(r"^(?P<mark>  DIVERGENT:|            )\s*(?P<op>br i1|switch) ")


@dataclass(slots=True)
class LlvmAnswer:
    """What LLVM says: values and blocks (with branches) by name, and whether they are uniform."""

    values: dict[str, bool] = field(default_factory=dict)
    branches: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Versus:
    """Both answers over many kernels.

    Parameters
    ----------
    kernels, skipped
        How many were compared, and why the others could not be.
    values, llvm, wave, lanes
        Values; those uniform to LLVM, to us in a wave, and to us in a lane group along x.
    exceptions
        Values uniform to LLVM and not to us in a wave: kernel and value.
    """

    kernels: int = 0
    values: int = 0
    llvm: int = 0
    wave: int = 0
    lanes: int = 0
    branches: int = 0
    llvm_branches: int = 0
    wave_branches: int = 0
    lanes_branches: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    exceptions: list[tuple[str, str]] = field(default_factory=list)


def find_opt() -> str | None:
    """The path of an ``opt`` with the uniformity printer."""
    for name in OPT_NAMES:
        path = shutil.which(name)
        if path is not None and "print<uniformity>" in _passes(path):
            return path
    return None


def _passes(opt: str) -> str:
    return subprocess.run([opt, "--print-passes"], capture_output=True, text=True, check=False).stdout


def ask_llvm(opt: str, text: str) -> LlvmAnswer:
    """LLVM's answer for the one function of a module.

    Raises
    ------
    CannotTranslateError
        This LLVM does not read the module.
    """
    done = subprocess.run(
        [opt, "-passes=print<uniformity>", "-disable-output", "-"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CannotTranslateError(f"LLVM does not read it: {done.stderr.splitlines()[0]}")
    answer = LlvmAnswer()
    block = ""
    for line in done.stderr.splitlines():
        if match := _BLOCK.match(line):
            block = match["name"]
        elif match := _DEFINITION.match(line):
            answer.values[match["name"].strip('"')] = not match["mark"].strip()
        elif match := _TERMINATOR.match(line):
            answer.branches[block] = not match["mark"].strip()
    return answer


def compare(opt: str, sources: Iterable[CompiledSource]) -> Versus:
    """Ask both about every kernel."""
    found = Versus()
    for source in sources:
        program = kernel_program(source.result)
        kernel = program.functions[0]
        try:
            translate(program.module, kernel)
            answer = ask_llvm(opt, write_module(program.module, plain=True))
        except CannotTranslateError as error:
            found.skipped[str(error)] += 1
            continue
        found.kernels += 1
        _count(found, source.name, kernel, answer)
    return found


def _count(found: Versus, name: str, kernel: Function, answer: LlvmAnswer) -> None:
    wave = analyze_divergence(kernel, width=WAVE, dimension=None)
    lanes = analyze_divergence(kernel, width=16)
    for instruction in kernel.instructions():
        if instruction.type is VOID or instruction.name not in answer.values:
            continue
        found.values += 1
        found.llvm += answer.values[instruction.name]
        found.wave += wave.place_shape(instruction).is_uniform
        found.lanes += lanes.place_shape(instruction).is_uniform
        if answer.values[instruction.name] and not wave.place_shape(instruction).is_uniform:
            found.exceptions.append((name, f"%{instruction.name} = {instruction.op}"))
    _count_branches(found, kernel, answer, wave, lanes)


def _count_branches(
    found: Versus, kernel: Function, answer: LlvmAnswer, wave: Divergence, lanes: Divergence
) -> None:
    for block in kernel.blocks:
        if block.name in answer.branches and len(block.successors) > 1:
            found.branches += 1
            found.llvm_branches += answer.branches[block.name]
            found.wave_branches += not wave.is_divergent_branch(block)
            found.lanes_branches += not lanes.is_divergent_branch(block)


def as_text(found: Versus, opt: str) -> str:
    """The comparison as lines."""
    rows = [
        ("LLVM, wave", found.llvm, found.llvm_branches),
        ("weft, wave", found.wave, found.wave_branches),
        ("weft, lanes along x", found.lanes, found.lanes_branches),
    ]
    lines = [
        f"uniform in {found.kernels} kernels for amdgcn ({opt}): {found.values} values, {found.branches} branches",
        *(
            f"  {name:20}{values:7} values {values / found.values:7.2%}{branches:7} branches"
            for name, values, branches in rows
        ),
        f"  uniform to LLVM and not to weft: {len(found.exceptions)}",
        *(f"    {kernel}: {value}" for kernel, value in found.exceptions),
    ]
    lines += [f"  {count} kernels left out: {reason}" for reason, count in found.skipped.items()]
    return "\n".join(lines)
