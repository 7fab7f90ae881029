"""Scalar replacement by each policy, as tables in Markdown: ``python -m bench.scalar_replacement [loops]``.

``--only loads``: dynamic loads on the interpreter. ``times``: CPU time in W lanes and in one, beside gcc and clang, for
the processor that ``WEFT_CPU`` names. ``cycles``: what the model of a GPU predicts. ``ptx``: loads, instructions and
registers by ``ptxas``. ``programs``: kernels of the other benches, with and without. By default all but the last two.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench import output
from bench.harness import Comparison, compare
from bench.scalar_replacement.loops import LOOPS, loads, program, replaced
from bench.scalar_replacement.peers import compiler, weft, weft_code
from weft.target.machine import TargetSpec
from weft.transform.scalar_replacement.policy import PolicyName

TABLES = ("loads", "times", "cycles", "ptx", "programs")
OFF = PolicyName.OFF


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("loops", nargs="*", default=LOOPS, help="loops of the source; all by default")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the peers in turns")
    parser.add_argument("--width", type=int, help="lanes; by default those of 32 bits in a register")
    parser.add_argument("--policies", default=",".join(PolicyName), help="the policies that are timed")
    parser.add_argument("--only", choices=TABLES, action="append", help="these tables only")
    parser.add_argument("--arch", default="sm_90", help="the GPU that PTX is for")
    options = parser.parse_args()
    policies = list(dict.fromkeys([OFF, *map(PolicyName, options.policies.split(","))]))
    makers: dict[str, Callable[[], None]] = {
        "loads": lambda: _loads(options.loops, options.width or 16),
        "times": lambda: _times(options.loops, policies, options.width, options.rounds),
        "cycles": lambda: _cycles(options.loops, policies, options.arch),
        "ptx": lambda: _ptx(options.loops, policies, options.arch),
        "programs": lambda: _programs(options.rounds),
    }
    for name in options.only or TABLES[:3]:
        makers[name]()


class _Table:
    """Ratios, a loop a row, which are shown as they come, and their geometric means."""

    def __init__(self, title: str, columns: Sequence[str]) -> None:
        self.columns = columns
        self.ratios: dict[str, list[float]] = {}
        print(f"\n{title}\n\n| loop | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}", flush=True)

    def add(self, loop: str, ratios: Mapping[str, float | None], shown: Mapping[str, str]) -> None:
        """Show a row: for each column what is `shown`, else its ratio."""
        for column, ratio in ratios.items():
            if ratio:
                self.ratios.setdefault(column, []).append(ratio)
        cells = (shown.get(c) or _ratio(ratios.get(c)) for c in self.columns)
        print(f"| {loop} | {' | '.join(cells)} |", flush=True)

    def finish(self) -> None:
        """Show the means."""
        means = (
            _ratio(statistics.geometric_mean(r)) if (r := self.ratios.get(c)) else "" for c in self.columns
        )
        most = (_ratio(max(r)) if (r := self.ratios.get(c)) else "" for c in self.columns)
        print(f"| geometric mean | {' | '.join(means)} |\n| greatest | {' | '.join(most)} |", flush=True)


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _loads(loops: Iterable[str], width: int) -> None:
    """Dynamic loads of all threads by policy, and of lane groups, beside off."""
    spec = TargetSpec.chosen()
    table = _Table(f"Dynamic loads of {width} threads (and those issued)", list(PolicyName))
    for loop in loops:
        module = program(spec)
        counts = {p: loads(replaced(module, loop, p, width), loop, width) for p in PolicyName}
        for policy, found in counts.items():
            assert found[2] == counts[OFF][2], f"{policy} changes what {loop} writes"
        ratios = {p: found[0] / counts[OFF][0] for p, found in counts.items()}
        table.add(loop, ratios, {p: f"{found[0]} ({found[1]})" for p, found in counts.items()})
    table.finish()


def _times(loops: Iterable[str], policies: Sequence[PolicyName], width: int | None, rounds: int) -> None:
    spec = TargetSpec.chosen()
    lanes = width or spec.isa.vector_bits // 32
    others = [p for p in policies if p is not OFF]
    wide, alone = [f"{p} x{lanes}" for p in others], [f"{p} x1" for p in others]
    columns = [f"off x{lanes}", *wide, "gcc -O3", "clang -O3", "off x1", *alone]
    table = _Table(
        f"CPU time on {spec.isa.name}: over off in {lanes} lanes, and, of x1, over off in one", columns
    )
    with tempfile.TemporaryDirectory() as folder:
        for loop in loops:
            codes = {f"{p} x{n}": (n, weft_code(loop, p, n)) for n in (lanes, 1) for p in policies}
            # Policies that make the same code are one peer.
            same = {name: next(other for other in codes if codes[other] == codes[name]) for name in codes}
            peers = [
                weft(loop, c, codes[c][1], codes[c][0], Path(folder)) for c in dict.fromkeys(same.values())
            ]
            peers += [compiler(loop, which, Path(folder)) for which in ("gcc", "clang")]
            found = compare(loop, peers, rounds)
            ratios = {
                c: _over(found, same.get(c, c), f"off x{lanes}") for c in (*wide, "gcc -O3", "clang -O3")
            }
            ratios |= {c: _over(found, same[c], "off x1") for c in alone}
            shown = {c: output.duration(t) for c in (f"off x{lanes}", "off x1") if (t := found.median(c))}
            table.add(loop, ratios, shown)
            for m in found.measurements:
                if m.detail:
                    print(f"<!-- {m.peer}: {m.status}, {m.detail} -->")
    table.finish()


def _over(found: Comparison, peer: str, other: str) -> float | None:
    own, base = found.median(peer), found.median(other)
    return own / base if own and base else None


def _cycles(loops: Sequence[str], policies: Sequence[PolicyName], arch: str) -> None:
    from bench.scalar_replacement.gpu import Kernels, issued_loads

    table = _Table(
        "Simulated cycles of the PTX over off (and loads that warps issue), model of an H200", policies
    )
    kernels = Kernels(loops, arch)
    for loop in loops:
        found = {p: kernels.simulation(loop, p) for p in policies}
        off, wanted = found[OFF]
        for policy, (_, written) in found.items():
            assert written == wanted, f"{policy} changes what {loop} writes"
        ratios = {p: s.cycles / off.cycles for p, (s, _) in found.items()}
        shown = {p: f"{ratios[p]:.3f} ({issued_loads(s)})" for p, (s, _) in found.items()}
        table.add(loop, ratios, shown | {OFF: f"{off.cycles:.0f} ({issued_loads(off)})"})
    table.finish()


def _ptx(loops: Sequence[str], policies: Sequence[PolicyName], arch: str) -> None:
    """Loads in PTX, instructions and registers of machine code, by policy."""
    from bench.scalar_replacement.gpu import Kernels

    table = _Table(f"{arch}: loads in PTX, instructions, registers; means are those of registers", policies)
    kernels = Kernels(loops, arch)
    for loop in loops:
        found = {p: kernels.assembled(loop, p) for p in policies}
        registers = found[OFF][1].registers
        shown = {p: f"{n}, {code.instructions}, {code.registers}" for p, (n, code) in found.items()}
        table.add(loop, {p: code.registers / registers for p, (_, code) in found.items()}, shown)
    table.finish()


def _programs(rounds: int) -> None:
    from bench.scalar_replacement.programs import compare_all

    table = _Table("CPU time on one thread, of programs that are other code", ["ssrqp"])
    count, found = compare_all(
        "", rounds, lambda c: table.add(c.title, {"ssrqp": _over(c, "ssrqp", "off")}, {})
    )
    table.finish()
    print(f"{count - len(found)} of {count} programs are the same code.")


if __name__ == "__main__":
    main()
