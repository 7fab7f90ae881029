"""Machine code that LLVM makes with less care, for tests that ask only what it computes."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from weft.target import machine, passes
from weft.target.llvm import ParsedModule, TargetMachine

SIMPLIFIED = passes.Pipeline("simplified", 1, unroll=False, once=True)
"""In place of O2 and O3: each function once, as behind kernels, without unrolled loops and LLVM's vectorizers."""

FEW = ("sroa", "simplifycfg", "instcombine")
"""In place of the passes of such a pipeline, which take four times as long: code for it is made as soon."""

LEVEL = 0
"""Of LLVM's code generator, in place of 3: it takes half the time that level 1 takes."""


@contextmanager
def quick_code() -> Iterator[None]:
    """Let LLVM optimize little, which takes a third of what a test takes otherwise.

    All that weft does is as ever.
    """
    run, target_machine = passes.run, machine.target_machine

    def run_quickly(
        module: ParsedModule, asked: passes.PassList | passes.Pipeline, target: TargetMachine
    ) -> None:
        run(module, SIMPLIFIED if isinstance(asked, passes.Pipeline) else asked, target)

    def quick_machine(spec: machine.TargetSpec) -> TargetMachine:
        return target_machine(
            machine.TargetSpec(spec.triple, spec.cpu, spec.features, min(spec.level, LEVEL))
        )

    def simplify_quickly(module: ParsedModule, level: int, target: TargetMachine, *, unroll: bool) -> None:
        module.run_passes(FEW, target)

    with (
        mock.patch.object(passes, "run", run_quickly),
        mock.patch.object(ParsedModule, "simplify_functions", simplify_quickly),
        mock.patch.object(machine, "target_machine", quick_machine),
    ):
        yield
