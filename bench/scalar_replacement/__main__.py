"""Counts and times the loops named on the command line, or all: ``python -m bench.scalar_replacement [loops]``.

``--only ptx`` counts what ``ptxas`` makes of them; times on GPUs are not taken.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from bench import output
from bench.harness import compare
from bench.scalar_replacement.loops import LOOPS, loads, program, replaced
from bench.scalar_replacement.peers import compiler, weft
from weft.target.machine import TargetSpec
from weft.transform.scalar_replacement.policy import PolicyName


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loops", nargs="*", default=LOOPS, help="loops of the source; all by default")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the peers in turns")
    parser.add_argument("--width", type=int, default=16, help="lanes")
    parser.add_argument("--policies", default=",".join(PolicyName), help="the policies that are timed")
    parser.add_argument("--only", choices=("loads", "times", "ptx"), help="one table only")
    parser.add_argument("--arch", default="sm_90", help="the GPU that PTX is for")
    options = parser.parse_args()
    policies = [PolicyName(name) for name in options.policies.split(",")]
    if options.only in (None, "loads"):
        print(_count(options.loops, options.width), flush=True)
    if options.only == "ptx":
        print(_ptx(options.loops, policies, options.arch))
    if options.only in (None, "times"):
        with tempfile.TemporaryDirectory() as folder:
            for loop in options.loops:
                print(f"\n{_time(loop, policies, options.width, options.rounds, Path(folder))}", flush=True)


def _count(loops: list[str], width: int) -> str:
    """Dynamic loads of all threads by policy, and those issued, beside off."""
    spec = TargetSpec.chosen()
    lines = [f"dynamic loads of {width} threads (and those issued) | " + " | ".join(PolicyName)]
    shares: dict[PolicyName, list[float]] = {}
    for loop in loops:
        module = program(spec)
        counts = {p: loads(replaced(module, loop, p, width), loop, width) for p in PolicyName}
        off = counts[PolicyName.OFF]
        for policy, found in counts.items():
            assert found[2] == off[2], f"{policy} changes what {loop} writes"
            shares.setdefault(policy, []).append(found[0] / off[0])
        lines.append(f"{loop} | " + " | ".join(f"{found[0]} ({found[1]})" for found in counts.values()))
    means = (f"{statistics.geometric_mean(found):.3f}" for found in shares.values())
    return "\n".join([*lines, "geometric mean of all, beside off | " + " | ".join(means)])


def _ptx(loops: list[str], policies: list[PolicyName], arch: str) -> str:
    """Loads in PTX, instructions and registers of machine code, by policy."""
    from bench.scalar_replacement.ptx import on_gpu

    module = program(TargetSpec.chosen())
    lines = [f"{arch}: loads in PTX, instructions, registers | " + " | ".join(policies)]
    for loop in loops:
        cells = []
        for policy in policies:
            loads_in_ptx, code = on_gpu(module, loop, policy, arch)
            cells.append(f"{loads_in_ptx}, {code.instructions}, {code.registers}")
        lines.append(f"{loop} | " + " | ".join(cells))
    return "\n".join(lines)


def _time(loop: str, policies: list[PolicyName], width: int, rounds: int, folder: Path) -> str:
    peers = [weft(loop, policy, lanes, folder) for lanes in (width, 1) for policy in policies]
    peers += [compiler(loop, which, folder) for which in ("gcc", "clang")]
    return output.table(compare(f"{loop}, CPU time", peers, rounds))


if __name__ == "__main__":
    main()
