"""Tables and plots of what `simulated` and `machine_code` found. Cycles are those of a model."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.registers.simulated import Run, load

_LABELS = {"local": "Tra", "div": "DivRA", "affine": "AffRA", "hybrid": "hybrid", "auto": "auto"}


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean; 1 of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def ratios(runs: Sequence[Run], policy: str, base: str = "local") -> dict[str, float]:
    """For each kernel that spills, cycles under `base` over those under a policy: above 1 is faster."""
    by = {(run.kernel, run.policy): run for run in runs}
    return {
        run.kernel: by[run.kernel, base].cycles / run.cycles
        for run in runs
        if run.policy == policy and (run.kernel, base) in by and by[run.kernel, "local"].spilled
    }


def show(folder: Path) -> None:
    """Print everything that was kept."""
    for file in sorted(folder.glob("*.json")):
        if file.name.startswith("machine-"):
            _show_machine(file)
        else:
            _show_runs(file)


def _show_runs(file: Path) -> None:
    runs = load(file)
    policies = [p for p in _LABELS if any(run.policy == p for run in runs)]
    kernels = list(ratios(runs, "local"))
    print(f"## {file.stem}: cycles of the model, Tra over the policy; {len(kernels)} kernels that spill\n")
    print(f"| kernel | pressure | {' | '.join(_LABELS[p] for p in policies[1:])} | auto chose |")
    print(f"|---|---|{'---|' * len(policies)}")
    by = {(run.kernel, run.policy): run for run in runs}
    for name in kernels:
        base = by[name, "local"]
        cells = " | ".join(f"{base.cycles / by[name, p].cycles:.2f}" for p in policies[1:])
        print(f"| {name} | {base.pressure} | {cells} | {by[name, 'auto'].chose} |")
    means = {p: geometric_mean(list(ratios(runs, p).values())) for p in policies}
    print("| geometric mean | | " + " | ".join(f"{means[p]:.3f}" for p in policies[1:]) + " | |")
    worst = min(ratios(runs, "auto").items(), key=lambda item: item[1], default=("", 1.0))
    print(f"\nauto at worst: {worst[1]:.3f} ({worst[0]})")
    for policy in ("div", "affine"):
        more = ratios(runs, f"{policy}+1", "local+1")
        if more:
            print(f"{_LABELS[policy]}, bases and ids on top, over Tra with one register more: ", end="")
            print(f"{geometric_mean(list(more.values())):.3f}")
    print("\n| accesses | " + " | ".join(_LABELS[p] for p in policies) + " |")
    print(f"|---|{'---|' * len(policies)}")
    for title, kind in (("in the text", "static"), ("by warps", "dynamic")):
        keys = sorted({key for run in runs for key in getattr(run, kind)})
        for key in keys:
            total = [sum(getattr(r, kind).get(key, 0) for r in runs if r.policy == p) for p in policies]
            print(f"| {key}, {title} | " + " | ".join(f"{n:,}" for n in total) + " |")
    print()


def _show_machine(file: Path) -> None:
    rows = [row for row in json.loads(file.read_text()) if "versions" in row]
    names = list(rows[0]["versions"]) if rows else []
    print(f"## {file.stem}: {len(rows)} kernels that ptxas spills with 24 registers\n")
    print(f"| version | {' | '.join(names)} |")
    print(f"|---|{'---|' * len(names)}")
    for key in ("LDL", "STL", "LDS", "STS"):
        sums = [sum(row["versions"][n].get(key, 0) for row in rows) for n in names]
        print(f"| {key} | " + " | ".join(f"{n:,}" for n in sums) + " |")
    for label, better in (
        ("fewer local accesses than ptxas", lambda row, n: _local(row, n) < _local(row, "ptxas")),
        ("no more", lambda row, n: _local(row, n) <= _local(row, "ptxas")),
        ("fewer than ptxas smem", lambda row, n: _local(row, n) < _local(row, "ptxas smem")),
    ):
        counts = [sum(better(row, n) for row in rows) for n in names]
        print(f"| kernels with {label} | " + " | ".join(map(str, counts)) + " |")
    print()


def _local(row: dict[str, Any], name: str) -> int:
    return row["versions"][name].get("LDL", 0) + row["versions"][name].get("STL", 0)


def plot(folder: Path) -> None:
    """Draw what was kept, one figure a file."""
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    for file in sorted(folder.glob("*.json")):
        if file.name.startswith("machine-"):
            rows = [row for row in json.loads(file.read_text()) if "versions" in row]
            if not rows:
                continue
            names = list(rows[0]["versions"])
            figure, axes = pyplot.subplots(figsize=(max(8, len(rows) / 3), 4))
            for k, name in enumerate(names):
                places = [i + (k - 1.5) * 0.2 for i in range(len(rows))]
                axes.bar(places, [_local(row, name) for row in rows], 0.2, label=name)
            axes.set_xticks(range(len(rows)), [row["kernel"][:20] for row in rows], rotation=90, fontsize=6)
            axes.set_ylabel("LDL and STL in the machine code")
        else:
            runs = load(file)
            kernels = list(ratios(runs, "local"))
            figure, axes = pyplot.subplots(figsize=(max(8, len(kernels) / 3), 4))
            for k, policy in enumerate(("div", "affine", "hybrid")):
                found = ratios(runs, policy)
                places = [i + (k - 1) * 0.25 for i in range(len(kernels))]
                axes.bar(places, [1 / found[name] for name in kernels], 0.25, label=_LABELS[policy])
            axes.axhline(1, color="black", linewidth=0.5)
            axes.set_xticks(range(len(kernels)), kernels, rotation=90, fontsize=6)
            axes.set_ylabel("cycles of the model over Tra's")
        axes.legend()
        figure.tight_layout()
        figure.savefig(file.with_suffix(".png"), dpi=120)
        print(file.with_suffix(".png"))
