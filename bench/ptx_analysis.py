"""What the analyses of Sampaio et al. find in PTX, and what they cost: Fig. 20 to 22 for kernels of anybody's.

Run as ``python -m bench.ptx_analysis FILE.ptx ...``; names that begin alike up to the first underscore are a group.
Each kernel is lifted as for a launch, its registers made values, and analysed in gated SSA, whose variables are
counted. Time is that of the analyses alone, as in the paper, against PTX instructions and against variables.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import analysis_sparse, precision_sparse
from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.ptx.build import PtxProgram
from weft.errors import WeftError
from weft.ir import Function
from weft.ptx.reader.module import read_module

ROUNDS = 3
PAPER = "the paper: 56.02 % simple, 54.42 % affine, R² 0.957 and 0.936, ratio 1.39"


@dataclass(slots=True)
class Kernel:
    """A kernel of a file.

    Parameters
    ----------
    group
        The begin of the file's name.
    instructions
        Of its PTX.
    function
        What is analysed.
    """

    group: str
    instructions: int
    function: Function


def kernels_of(path: Path) -> Iterator[Kernel]:
    """The kernels of a file; those that weft cannot run are left out, and said."""
    text = read_module(path.read_text(), path.name)
    program = PtxProgram.of(text, path.name)
    for source in text.entries():
        try:
            origin = KernelOrigin(program.kernel(source.name), source.name)
            function = origin.module(small=True).functions[origin.symbol]
        except WeftError as error:
            print(f"left out: {path.name} {source.name}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        count = sum(1 for _ in source.instructions())
        yield Kernel(path.stem.partition("_")[0], count, function)


def measure(kernels: Iterable[Kernel]) -> None:
    """Analyse kernels, and print the tables."""
    groups: dict[str, precision_sparse.Precision] = defaultdict(precision_sparse.Precision)
    instructions: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    costs: list[tuple[int, analysis_sparse.Cost]] = []
    for kernel in kernels:
        found = precision_sparse.measure_function(kernel.function)
        for group in (kernel.group, "all"):
            groups[group].add(found)
            instructions[group] += kernel.instructions
            counts[group] += 1
        [cost] = analysis_sparse.measure([kernel.function], ROUNDS)
        costs.append((kernel.instructions, cost))
    states = "".join(f"{s:>8}" for s in precision_sparse.STATES)
    print(f"{'':8}{'kernels':>8}{'PTX':>9}{'variables':>11}{'simple':>9}{'affine':>9}{states}")
    for group in sorted(groups, key=lambda g: (g == "all", g)):
        found = groups[group]
        shares = "".join(f"{found.states[s] / found.variables:8.1%}" for s in precision_sparse.STATES)
        print(
            f"{group:8}{counts[group]:8}{instructions[group]:9}{found.variables:11}"
            f"{found.simple / found.variables:9.1%}{found.affine / found.variables:9.1%}{shares}"
        )
    print()
    for name in ("simple", "affine"):
        times = [getattr(cost, name) for _, cost in costs]
        for what, xs in (
            ("PTX instructions", [n for n, _ in costs]),
            ("variables", [c.variables for _, c in costs]),
        ):
            line = analysis_sparse.fit(list(zip(map(float, xs), times, strict=True)))
            print(f"{name}: {line.slope * 1e6:.2f} µs for each of the {what}, R² {line.r_squared:.3f}")
    for what, share in (("alone", 0), ("with the dependence graph that both need", 1)):
        affine, simple = (
            sum(getattr(c, n) + share * c.graph for _, c in costs) for n in ("affine", "simple")
        )
        print(f"affine over simple, {what}: {affine / simple:.2f}")
    print(PAPER)


def main() -> None:
    paths = sorted(map(Path, sys.argv[1:]))
    measure(kernel for path in paths for kernel in kernels_of(path))


if __name__ == "__main__":
    main()
