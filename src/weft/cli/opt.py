"""``weft opt``: run passes on a file of P-LLVM, by name and in the order given, and print what they leave.

Between passes the text is P-LLVM: LLVM IR with block predicates, shadows and lane operations, which ``weft opt`` reads
back. Behind ``widening`` it is plain LLVM IR.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from weft.analysis.shapes import parse_args
from weft.cli.switches import add_switches, switches_of
from weft.codegen.order.width import MAX_WIDTH, one_register
from weft.codegen.slots import SlotInterface
from weft.diag.errors import ArgumentError, PassError
from weft.ir import Module
from weft.ir.writer import write_module
from weft.jit_options import JitOptions
from weft.loops.llvm_ir import read_source, target_named
from weft.options import CompileOptions
from weft.passes.adopt import adopt, chosen_function
from weft.passes.catalog import known_names, list_named, passes_named
from weft.passes.declared import PassList
from weft.passes.file_unit import FileUnit
from weft.passes.foreign import FOREIGN_LOOPS
from weft.passes.foreign_unit import ForeignFunctionUnit, ForeignLoopUnit, ForeignUnit
from weft.passes.kernels import KERNELS
from weft.passes.loops import LOOPS
from weft.passes.lower_function import lower_function
from weft.passes.lower_kernel import lower_kernel
from weft.passes.machine_text import machine_text
from weft.passes.runner import Printer, Runner
from weft.target.machine import TargetSpec
from weft.transform.boscc.insertion import Boscc, BosccMode


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("opt", help="run passes on a file of P-LLVM", description=__doc__)
    parser.add_argument(
        "file", metavar="IN.ll", type=Path, help="LLVM text, with or without P-LLVM's additions, or C"
    )
    parser.add_argument(
        "--passes",
        metavar="A,B,...",
        required=True,
        help="passes by name, or a whole list ('weft passes' shows both)",
    )
    parser.add_argument("--function", metavar="F", help="the function; by default the only one of the file")
    parser.add_argument(
        "--width", metavar="W", type=int, help="lanes; by default a register of 32-bit values"
    )
    parser.add_argument(
        "--args", metavar="SHAPES", default="", help="shapes of the parameters, as for 'weft vectorize'"
    )
    parser.add_argument(
        "--loop",
        metavar="LOOP",
        default="outermost",
        help="for the list foreign-loops: which loops, as for 'weft vectorize'",
    )
    parser.add_argument("--target", metavar="CPU", default="host", help="host, or an instruction set")
    add_switches(parser)
    parser.add_argument(
        "--print-after",
        metavar="P",
        action="append",
        default=[],
        help="print what a pass leaves ('all' for each)",
    )
    parser.add_argument("--time", action="store_true", help="say how long each pass took")
    parser.add_argument("-o", dest="output", metavar="OUT.ll", type=Path, help="where to write the text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the passes, and print or write what they leave."""
    unknown = [name for name in options.print_after if name != "all" and name not in known_names()]
    if unknown:
        raise PassError(
            f"there is no pass {unknown[0]!r} to print the program after", hint="'weft passes' lists them"
        )
    spec, isa = target_named(options.target)
    width = options.width or one_register(isa)
    if not 1 <= width <= MAX_WIDTH or width & (width - 1):
        raise ArgumentError(f"{width} lanes: the number of lanes is a power of two, at most {MAX_WIDTH}")
    module, name = _read(options.file, options.function, spec)
    left_out = frozenset(switches_of(options).without)
    runner = Runner((Printer(options.print_after, sys.stdout),), left_out, strict=True)
    whole = list_named(options.passes)
    if whole is not None:
        text = _run_list(whole, module, name, options, spec, runner)
    else:
        unit = FileUnit(
            module,
            name,
            spec,
            width,
            parse_args(options.args),
            Boscc(BosccMode(options.boscc), isa),
            switches_of(options),
        )
        unit.run(passes_named(options.passes.split(",")), runner)
        text = write_module(unit.module)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    elif not options.print_after:
        print(text, end="")
    for each, seconds in runner.seconds.items() if options.time else ():
        print(f"{1e3 * seconds:9.2f} ms  {each}", file=sys.stderr)
    return 0


def _read(file: Path, function: str | None, spec: TargetSpec) -> tuple[Module, str]:
    text, name = read_source(file, spec, ())
    module = adopt(text, name)
    defined = [f.name for f in module.definitions()]
    if function is None and len(defined) != 1:
        raise ArgumentError(
            f"{file} defines {len(defined)} functions",
            hint=f"say which with --function: {', '.join(defined)}",
        )
    return module, _existing(module, function or defined[0])


def _existing(module: Module, name: str) -> str:
    found = module.functions.get(name)
    if found is None or found.is_declaration:
        # The error says which there are.
        chosen_function(module, name)
    return name


def _run_list(
    passes: PassList, module: Module, name: str, options: argparse.Namespace, spec: TargetSpec, runner: Runner
) -> str:
    """The text that a whole list leaves."""
    if passes is KERNELS:
        compile_options = CompileOptions(
            width=options.width, boscc=options.boscc, switches=switches_of(options)
        )
        return lower_kernel(module, name, compile_options, spec, runner=runner).text
    if passes is LOOPS:
        results = SlotInterface(int(not module.functions[name].fn_type.result.is_void))
        jit_options = JitOptions(width=options.width, boscc=options.boscc, switches=switches_of(options))
        return lower_function(module, name, results, jit_options, spec, runner=runner).text
    unit = _foreign_unit(passes, module, name, options, spec, runner)
    runner.run(passes, unit)
    return machine_text(unit.module, spec.isa)


def _foreign_unit(
    passes: PassList, module: Module, name: str, options: argparse.Namespace, spec: TargetSpec, runner: Runner
) -> ForeignUnit:
    boscc = Boscc(BosccMode(options.boscc), spec.isa)
    if passes is FOREIGN_LOOPS:
        return ForeignLoopUnit(
            module,
            name,
            spec,
            spec.isa,
            options.width,
            boscc,
            runner,
            switches_of(options),
            which=options.loop,
        )
    return ForeignFunctionUnit(
        module, name, spec, spec.isa, options.width or one_register(spec.isa), boscc, runner, switches_of(options),
        wanted=name, subject=name, signature=parse_args(options.args),
    )  # fmt: skip
