"""Fit the constants of the cost model on one level: ``WEFT_CPU=x86-64-v3 python -m bench.fits``."""

from __future__ import annotations

import argparse
import os

from bench.fits.fitting import FITS, GUESSED, PROGRAMS, every_code, find, loss_of_widths
from bench.fits.published import compared, line, published
from bench.fits.table import Table
from bench.fits.widths import planned
from weft import set_num_threads
from weft.costs.constants import constants_of
from weft.machine.host import chosen

ROUNDS = 13


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Fit the constants of the cost model, on kernels of no table."
    )
    parser.add_argument(
        "constants", nargs="*", choices=[*(f.constant for f in FITS), []], help="default: all"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--times", action="store_true", help="only measure, and print the times of all codes")
    parser.add_argument(
        "--published", nargs="*", metavar="ROW", help="compare rows of the published tables, all by default"
    )
    options = parser.parse_args()
    os.environ["WEFT_CACHE"] = "0"
    set_num_threads(1)
    machine = chosen()
    constants, table = constants_of(machine.isa), Table.kept(machine.isa.name)
    print(
        f"{machine.isa.name}, code for {machine.cpu}; loss: time of what is chosen over that of the fastest"
    )
    if options.published is not None:
        for title, task, by in published(options.published):
            print(line(title, compared(task, by, GUESSED, options.rounds)), flush=True)
        return
    for program in PROGRAMS:
        if program.name not in table.times:
            table.add(program, every_code(program), options.rounds)
            table.save()
        if options.times:
            print(table.line(program), flush=True)
    if options.times:
        return
    plans = [plan for plan in map(planned, PROGRAMS) if plan is not None]
    print(f"widths of {len(plans)} programs: loss {loss_of_widths(plans, table, constants)}")
    print(f"{'':10} by the guesses: loss {loss_of_widths(plans, table, GUESSED)}")
    for fit in FITS:
        if not options.constants or fit.constant in options.constants:
            print(find(fit, plans, table, constants, options.rounds), flush=True)


if __name__ == "__main__":
    main()
