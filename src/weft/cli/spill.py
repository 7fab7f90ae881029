"""``weft spill``: the registers of kernels in PTX allocated, spilled values placed by divergence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from weft.diag.errors import SettingError
from weft.machine.gpu_devices import DEVICES
from weft.spill.module import spill
from weft.spill.policies import Policy


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "spill", help="allocate the registers of PTX with divergence in mind", description=__doc__
    )
    parser.add_argument("file", metavar="FILE", help="a file in PTX")
    parser.add_argument(
        "--registers",
        metavar="N",
        type=int,
        required=True,
        help="32-bit registers of a thread, without predicates",
    )
    parser.add_argument(
        "--policy", choices=[p.value for p in Policy], default="auto",
        help="where spilled values go; auto takes what the model says is cheapest",
    )  # fmt: skip
    parser.add_argument(
        "--kernel", metavar="K", action="append", help="which kernels (repeatable); all by default"
    )
    parser.add_argument("--arch", metavar="ARCH", help="sm_75, sm_90, ...; by default what the file says")
    parser.add_argument(
        "--block", metavar="X[,Y[,Z]]", help="the size of the blocks that it will be launched with"
    )
    parser.add_argument(
        "--shared", metavar="BYTES", type=int, default=0, help="dynamic shared memory of a launch"
    )
    parser.add_argument("--allocator", choices=("linear", "chordal"), default="linear")
    parser.add_argument(
        "--farthest", choices=("next", "last"), default="next",
        help="which use tells linear scan what to spill",
    )  # fmt: skip
    parser.add_argument(
        "--everywhere", action="store_true", help="reload before each read, store behind each write"
    )
    parser.add_argument(
        "--on-top", action="store_true", help="what spill code itself needs does not count as registers"
    )
    parser.add_argument(
        "--degree", type=int, choices=(1, 2), default=1, help="of the polynomials in the thread id"
    )
    parser.add_argument(
        "--device", choices=tuple(DEVICES), help="the GPU of the model by which costs are estimated"
    )
    parser.add_argument("--max-registers", metavar="N", type=int, help="write .maxnreg with this number")
    parser.add_argument(
        "-o", metavar="OUT", dest="output", help="where to write the PTX; standard output by default"
    )
    parser.add_argument(
        "--report", action="store_true", help="print the values, where each went, why, and what that costs"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the module; 2 for wrong usage."""
    file = Path(options.file)
    if not file.is_file():
        print(f"weft spill: there is no file {options.file}", file=sys.stderr)
        return 2
    made = spill(
        file, options.registers, options.policy, kernel=options.kernel, arch=options.arch,
        block=_sizes(options.block), allocator=options.allocator, reuse=not options.everywhere,
        count_bases=not options.on_top, farthest=options.farthest, degree=options.degree,
        dynamic_shared=options.shared, max_registers=options.max_registers,
        device=options.device,
    )  # fmt: skip
    if options.report:
        # The PTX has standard output unless it goes to a file.
        print(made.report(), end="", file=sys.stdout if options.output else sys.stderr)
    for remark in made.remarks:
        print(remark, file=sys.stderr)
    if options.output is None:
        sys.stdout.write(made.text)
        return 0
    try:
        Path(options.output).write_text(made.text)
    except OSError as error:
        print(f"weft spill: {options.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _sizes(block: str | None) -> list[int] | None:
    if block is None:
        return None
    try:
        return [int(size) for size in block.replace("x", ",").split(",")]
    except ValueError:
        raise SettingError(f"--block {block} is no size of work-groups", hint="give --block 16,16") from None
