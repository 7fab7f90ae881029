"""``weft build``: a shared library of kernels and functions, which runs without weft and without a compiler."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from weft.aot.build import build, levels_named
from weft.cli.progress import progress


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "build", help="a shared library with header and Python stub, ahead of time", description=__doc__
    )
    parser.add_argument("file", metavar="FILE", help="a .py file with signatures, OpenCL C, C or C++")
    parser.add_argument("-o", dest="folder", metavar="DIR", required=True, help="where the files go")
    parser.add_argument(
        "--cpu",
        metavar="LEVELS",
        default="x86-64,v3,v4",
        help="levels of instructions that there is code for, of which the best is chosen when the library is loaded:"
        " x86-64, x86-64-v2, v3, v4; by default x86-64,v3,v4",
    )
    parser.add_argument(
        "--function", metavar="NAME", action="append", default=[], help="only this one (repeatable)"
    )
    parser.add_argument("--name", metavar="NAME", default="", help="what the files are called")
    parser.add_argument(
        "--vector-math",
        choices=("libmvec", "none"),
        default="libmvec",
        help="link with glibc's vector math, or call scalar functions where weft has no vector function itself",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Build the library, and print what was written."""
    levels = levels_named(options.cpu)
    with progress("weft build", len(levels) + 1) as step:
        made = build(
            Path(options.file), Path(options.folder), levels=levels, names=options.function,
            vector_math=options.vector_math, stem=options.name, progress=step,
        )  # fmt: skip
    for file in (made.library, made.header, made.stub):
        if file is not None:
            print(file)
    return 0
