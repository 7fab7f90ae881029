"""``python -m bench.registers``: measure, and make tables and plots of what was measured.

``simulate`` runs the kernels of ``kernels.cu`` under the model, ``machine FOLDER`` assembles kernels of a folder of
PTX, ``budgets`` compares results at all budgets, ``tables`` prints what was found, ``plots`` draws it, and ``states``
prints the distributions of Fig. 26. Results are kept in ``out/registers``, so that each can be done in parts.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from bench.registers import machine_code, tables
from bench.registers.kernels import launch_of, ptx
from bench.registers.simulated import Run, Source, load, measure, save
from weft.diag.errors import PtxError
from weft.spill.allocation import Spilled, allocate
from weft.spill.module import cheapest
from weft.spill.policies import Policy
from weft.spill.settings import Settings
from weft.spill.tables import Distributions, distributions

OUT = Path("out/registers")
_POLICIES = (Policy.LOCAL, Policy.DIV, Policy.AFFINE, Policy.HYBRID)


def simulate(options: argparse.Namespace) -> None:
    """Each kernel under each policy, and as the paper counts: one register more for the traditional allocator."""
    file = OUT / f"{options.device}-{options.registers}{'-everywhere' if options.everywhere else ''}.json"
    runs = load(file) if file.exists() else []
    done = {run.kernel for run in runs}
    arch = "sm_20" if options.device.startswith("gtx570") else "sm_90"
    source = Source(ptx("sm_75" if arch == "sm_20" else arch), arch, options.device)
    for name in options.kernels or source.names():
        if name in done or source.kernel(name).pressure <= options.registers:
            continue
        try:
            runs += _of_kernel(source, name, options, arch)
        except PtxError as error:
            print(f"{name}: {error.message}", file=sys.stderr)
            continue
        save(runs, file)
        mine = {run.policy: run for run in runs if run.kernel == name}
        base = mine["local"].cycles
        print(name, " ".join(f"{p} {base / run.cycles:.2f}" for p, run in mine.items()), flush=True)


def _of_kernel(source: Source, name: str, options: argparse.Namespace, arch: str) -> list[Run]:
    plain = Settings(
        options.registers, Policy.LOCAL, arch, launch_of(name).block, reuse=not options.everywhere
    )
    found: list[Run] = []
    made: list[Spilled] = []
    for policy in _POLICIES:
        run, spilled = measure(
            source, name, dataclasses.replace(plain, policy=policy), options.device, policy.value
        )
        found.append(run)
        made.append(spilled)
    best = made.index(cheapest(made))
    found.append(dataclasses.replace(found[best], policy="auto", chose=_POLICIES[best].value))
    if options.paper:
        more = dataclasses.replace(plain, registers=options.registers + 1)
        found.append(measure(source, name, more, options.device, "local+1")[0])
        for policy in (Policy.DIV, Policy.AFFINE):
            settings = dataclasses.replace(plain, policy=policy, count_bases=False)
            found.append(measure(source, name, settings, options.device, f"{policy.value}+1")[0])
    return found


def machine(options: argparse.Namespace) -> None:
    """Kernels of a folder, at ptxas's least."""
    file = OUT / f"machine-{options.arch}.json"
    rows = json.loads(file.read_text()) if file.exists() else []
    done = {row["kernel"] for row in rows}
    for module, name in machine_code.kernels_in(Path(options.folder), options.least, options.most):
        if name in done:
            continue
        try:
            row = machine_code.compare(module, name, options.arch, ("affine", "hybrid"))
        except (ValueError, PtxError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        kept = machine_code.as_json(row) if row is not None else {"kernel": name}
        rows.append(kept)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows, indent=0))
        if row is not None:
            print(kept["kernel"][:40], kept["versions"], flush=True)
        if sum("versions" in r for r in rows) >= options.count:
            break


def budgets(options: argparse.Namespace) -> None:
    """Each kernel at each budget below its pressure, a policy and an allocator in turn: results, to the bit."""
    source = Source(ptx("sm_75"), "sm_75")
    done = 0
    for number, name in enumerate(options.kernels or source.names()):
        for budget in range(8, min(source.kernel(name).pressure, 65)):
            turn = number + budget + options.turn
            settings = Settings(
                budget, _POLICIES[turn % 4], "sm_75", launch_of(name).block,
                allocator=("linear", "chordal")[turn // 4 % 2],
            )  # fmt: skip
            try:
                measure(source, name, settings, "h200", settings.policy.value)
            except PtxError as error:
                print(f"{name}, {budget} registers: {error.message}", file=sys.stderr)
                continue
            done += 1
        print(name, done, flush=True)


def states(options: argparse.Namespace) -> None:
    """The four distributions of Fig. 26."""
    source = Source(ptx("sm_75"), "sm_20")
    made = []
    for name in source.names():
        settings = Settings(options.registers, Policy.AFFINE, "sm_20", launch_of(name).block)
        try:
            made.append(allocate(source.kernel(name), settings))
        except PtxError as error:
            print(f"{name}: {error.message}", file=sys.stderr)
    found: Distributions = distributions(made)
    print(found.text())


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m bench.registers", description=__doc__)
    commands = parser.add_subparsers(required=True)
    simulating = commands.add_parser("simulate")
    simulating.add_argument("--registers", type=int, default=8)
    simulating.add_argument("--device", default="gtx570")
    simulating.add_argument("--everywhere", action="store_true")
    simulating.add_argument("--paper", action="store_true", help="count as the paper does, too")
    simulating.add_argument("kernels", nargs="*")
    simulating.set_defaults(run=simulate)
    assembling = commands.add_parser("machine")
    assembling.add_argument("folder")
    assembling.add_argument("--arch", default="sm_90")
    assembling.add_argument("--count", type=int, default=40)
    assembling.add_argument("--least", type=int, default=30, help="registers that a kernel needs at least")
    assembling.add_argument("--most", type=int, default=450, help="instructions that it has at most")
    assembling.set_defaults(run=machine)
    every = commands.add_parser("budgets")
    every.add_argument("--turn", type=int, default=0, help="which policy begins")
    every.add_argument("kernels", nargs="*")
    every.set_defaults(run=budgets)
    fig26 = commands.add_parser("states")
    fig26.add_argument("--registers", type=int, default=8)
    fig26.set_defaults(run=states)
    for name, run in (("tables", tables.show), ("plots", tables.plot)):
        commands.add_parser(name).set_defaults(run=lambda _, run=run: run(OUT))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
