"""Options of commands that leave parts of vectorization out."""

from __future__ import annotations

import argparse

from weft.options import BOSCC_MODES
from weft.switches import DEFAULT_REPLACEMENT, SCALAR_REPLACEMENT, Switches


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--boscc",
        choices=BOSCC_MODES,
        default="auto",
        help="where branches go around code that no lane takes",
    )
    off = "store_false"
    parser.add_argument(
        "--no-uniform-values", dest="uniform_values", action=off, help="uniform values are vectors"
    )
    parser.add_argument(
        "--no-uniform-control", dest="uniform_control", action=off, help="uniform branches are masks"
    )
    parser.add_argument(
        "--no-scalar-counters", dest="scalar_counters", action=off, help="loop counters are vectors"
    )
    parser.add_argument(
        "--scalar-replacement",
        choices=SCALAR_REPLACEMENT,
        default=DEFAULT_REPLACEMENT,
        help=f"by which policy loads are replaced by values that are known; {DEFAULT_REPLACEMENT} by default",
    )
    parser.add_argument(
        "--without", metavar="P", action="append", default=[], help="leave out an optional pass (repeatable)"
    )


def switches_of(options: argparse.Namespace) -> Switches:
    """What the options ask for."""
    return Switches(
        options.uniform_values,
        options.uniform_control,
        options.scalar_counters,
        options.scalar_replacement,
        tuple(options.without),
    )
