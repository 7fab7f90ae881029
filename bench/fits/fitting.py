"""What the data says about each constant: which values choose the fastest codes, and what others lose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.fits import branches, chains, groups, lookups, memory
from bench.fits.codes import Code, make
from bench.fits.program import Program
from bench.fits.table import Table
from bench.fits.widths import Planned
from weft.costs.constants import Constants

PROGRAMS = (
    *chains.PROGRAMS,
    *branches.PROGRAMS,
    *memory.PROGRAMS,
    *lookups.PROGRAMS,
    *groups.PROGRAMS,
)

WIDTHS = (1, 4, 8, 16, 32, 64)

CLOSE = 0.005
"""Losses that differ by less are equal: the times are no better."""

GUESSED = Constants(wider_worthwhile=(1.0, 0.85), wide_registers=4)
"""What the constants were before there was a fit."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Values that a constant may have, and the programs that tell.

    Parameters
    ----------
    constant
        Its name.
    values
        From low to high.
    programs
        Those that are compiled under each value; none where it takes part in choosing widths only, for which the
        program need not be compiled.
    """

    constant: str
    values: tuple[Any, ...]
    programs: tuple[Program, ...] = ()


def _named(*names: str) -> tuple[Program, ...]:
    return tuple(p for p in PROGRAMS if p.name in names)


_CONDITIONAL = (*branches.PROGRAMS, *_named("heaviest", "moved_some", "spread_heat"))
_STRUCTURES = _named("turned_points", "products", "greys", "moved_some", "two_of_four", "pyramid")

FITS = (
    Fit("loop_weight", (3.0, 10.0, 30.0)),
    Fit("miss_latency", (0.0, 20.0, 80.0, 160.0)),
    Fit("spill", (0.0, 1.0, 2.0, 4.0)),
    Fit("spare_registers", (0.0, 4.0, 8.0)),
    Fit("scalar", (0.0, 0.25, 1.0)),
    Fit("masking", (0.0, 2.0, 4.0)),
    Fit("atomic", (5.0, 18.0, 36.0)),
    Fit("gather_lane", (0.0, 0.5, 2.0)),
    Fit("numbered_lane", (0.5, 1.0, 2.5)),
    Fit("split_lane", (1.0, 2.5, 4.0)),
    Fit("wider_worthwhile", ((0.95, 0.95), (1.0, 0.95), (1.0, 0.98), (1.0, 1.0), (1.05, 1.05))),
    Fit("registers", (1, 2, 4, 8)),
    Fit("wide_registers", (1, 2, 4, 8)),
    Fit("rounds_worthwhile", (0.7, 0.85, 0.95, 1.05), groups.PROGRAMS),
    Fit("boxes_worthwhile", (0.4, 0.65, 0.9), groups.PROGRAMS),
    Fit("round", (5.0, 20.0, 60.0), groups.PROGRAMS),
    Fit("test", (0.5, 2.0, 4.0, 8.0), _CONDITIONAL),
    Fit("miss_share", (0.25, 0.5, 1.0), _CONDITIONAL),
    Fit("branch_miss", (8.0, 16.0, 32.0), _CONDITIONAL),
    Fit("together", (0.25, 0.5, 0.75), _CONDITIONAL),
    Fit("leaves", (0.05, 0.12, 0.25), _CONDITIONAL),
    Fit("outside", (0.02, 0.05, 0.2), _CONDITIONAL),
    Fit("inside", (0.7, 0.9, 0.97), _CONDITIONAL),
    Fit("spread_mask", (0.5, 1.5, 4.0), _STRUCTURES),
    Fit("slow_masked_store", (2.0, 4.0, 10.0), _STRUCTURES),
)


def every_code(program: Program) -> list[Code]:
    """Return what a program is measured as at least: at all widths, with and without branches around, as chosen."""
    codes = [make(program, f"width {w}", width=w) for w in WIDTHS]
    return [*codes, *(make(program, f"boscc {b}", boscc=b) for b in ("off", "on")), make(program, "chosen")]


@dataclass(frozen=True, slots=True)
class Loss:
    """How many times as long as the fastest codes of programs chosen ones take."""

    each: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The geometric mean."""
        return math.exp(sum(map(math.log, self.each.values())) / len(self.each))

    @property
    def worst(self) -> str:
        """The program that loses most."""
        return max(self.each, key=lambda name: self.each[name])

    def __str__(self) -> str:
        return f"{self.mean:.3f}, at most {self.each[self.worst]:.2f} ({self.worst})"


def loss_of_widths(plans: Sequence[Planned], table: Table, constants: Constants) -> Loss:
    """Return what is lost by the widths that are chosen under constants."""
    lost: dict[str, float] = {}
    for plan in plans:
        times = table.widths(plan.program)
        width = plan.width_under(constants)
        if width in times:
            lost[plan.program.name] = times[width] / min(times.values())
    return Loss(lost)


def loss_of_codes(programs: Sequence[Program], table: Table, constants: Constants, rounds: int) -> Loss:
    """Return what is lost by the codes that are made under constants; new ones are measured."""
    lost: dict[str, float] = {}
    for program in programs:
        code = make(program, "under other constants", constants)
        if code.key not in table.times[program.name]:
            table.add(program, [make(program, f"width {WIDTHS[0]}", width=WIDTHS[0]), code], rounds)
        lost[program.name] = table.loss(program, code.key)
    table.save()
    return Loss(lost)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a fit found: the loss at each value, the constants beside as they are."""

    fit: Fit
    value: Any
    losses: Mapping[Any, Loss]

    @property
    def best(self) -> list[Any]:
        """The values that choose the fastest codes."""
        least = min(loss.mean for loss in self.losses.values())
        return [v for v, loss in self.losses.items() if loss.mean <= least + CLOSE]

    def __str__(self) -> str:
        low, high = self.best[0], self.best[-1]
        told = len(self.best) < len(self.losses)
        least = min(loss.mean for loss in self.losses.values())
        said = f"best from {low} to {high}: {least:.3f}" if told else "no value is better than others"
        guess = getattr(GUESSED, self.fit.constant)
        before = self.losses.get(guess)
        return (
            f"{self.fit.constant:18} {self.value!s:12} {said}\n"
            f"{'':18} loss {self.losses[self.value]}; at {guess}, a guess: {before}"
        )


def find(fit: Fit, plans: Sequence[Planned], table: Table, constants: Constants, rounds: int) -> Finding:
    """Try the values of a constant."""
    value = getattr(constants, fit.constant)
    losses: dict[Any, Loss] = {}
    for tried in sorted({*fit.values, value, getattr(GUESSED, fit.constant)}):
        changed = msgspec.structs.replace(constants, **{fit.constant: tried})
        if fit.programs:
            losses[tried] = loss_of_codes(fit.programs, table, changed, rounds)
        else:
            losses[tried] = loss_of_widths(plans, table, changed)
    return Finding(fit, value, losses)
