"""A search among random programs without end, which takes up where it was left.

    PYTHONPATH=tests python -m codegen.fuzz [--programs N] [--workers N] [--state FILE] [--report]

Batches of seeds run in processes of their own, so that each takes up the sources as they are, and a program that
crashes or hangs costs its batch only: the seeds before it count, and the batch goes on behind it. The state, a JSON
file, has the next seed, what was found, and the coverage; batches that were under way are run again.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields
from pathlib import Path

from codegen.coverage import report

BATCH = 100
PATIENCE = 300.0
"""Seconds for one batch, many times what it takes."""


@dataclass(slots=True)
class State:
    """How far the search is.

    Parameters
    ----------
    next_seed
        All seeds before it have been given out.
    under_way
        The first seeds of batches that are not done.
    programs
        How many programs have run.
    wrong
        By seed, what was found.
    kinds, passes
        See `codegen.coverage`.
    """

    next_seed: int = 0
    under_way: list[int] = field(default_factory=list)
    programs: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def load(cls, file: Path) -> State:
        if not file.exists():
            return cls()
        held = json.loads(file.read_text())
        return cls(**held | {name: Counter(held[name]) for name in ("kinds", "passes")})

    def take_batch(self, running: set[int]) -> int:
        """The first seed of a batch to run: one that was under way, else the next."""
        left = [first for first in self.under_way if first not in running]
        if left:
            return left[0]
        first, self.next_seed = self.next_seed, self.next_seed + BATCH
        self.under_way.append(first)
        return first

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
        fresh.replace(file)


def run_batch(first: int, end: int) -> None:
    """Judge the programs of some seeds; one line of JSON for each on the standard output."""
    from codegen.differential import choice_of, judge

    # A sixth of the time; the process ends before its memory is missed.
    gc.disable()
    for seed in range(first, end):
        try:
            verdict = judge(choice_of(seed))
        except Exception as error:
            line = {
                "seed": seed,
                "wrong": f"{type(error).__name__}: {error}"[:2000],
                "kinds": {},
                "passes": {},
            }
        else:
            line = {"seed": seed, "wrong": verdict.wrong, "kinds": verdict.kinds, "passes": verdict.passes}
        print(json.dumps(line), flush=True)


def results_of(first: int, end: int) -> Iterator[dict[str, object]]:
    """What `run_batch` finds in processes of their own; a process that ends early is another finding."""
    while first < end:
        command = [sys.executable, "-m", "codegen.fuzz", "--batch", str(first), str(end)]
        why = "the process ended"
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
            output, why = (
                done.stdout,
                f"the process ended with status {done.returncode}: {done.stderr[-1000:]}",
            )
        except subprocess.TimeoutExpired as error:
            output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
            why = f"not done within {PATIENCE:.0f} seconds"
        for line in output.splitlines():
            result = json.loads(line)
            first = result["seed"] + 1
            yield result
        if first < end:
            yield {"seed": first, "wrong": why, "kinds": {}, "passes": {}}
            first += 1


def search(state: State, file: Path, programs: int | None, workers: int) -> None:
    """Run batch after batch, until so many programs have run or the user interrupts."""
    end = None if programs is None else state.programs + programs
    with ThreadPoolExecutor(workers) as pool:
        running: dict[Future[list[dict[str, object]]], int] = {}
        try:
            while True:
                while len(running) < workers and (end is None or state.programs + BATCH * len(running) < end):
                    first = state.take_batch(set(running.values()))
                    running[pool.submit(lambda a: list(results_of(a, a + BATCH)), first)] = first
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    note(state, future.result())
                    state.under_way.remove(running.pop(future))
                state.save(file)
                print(f"{state.programs} programs, {len(state.wrong)} wrong", flush=True)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here")


def note(state: State, results: list[dict[str, object]]) -> None:
    """Add what a batch found."""
    for result in results:
        state.programs += 1
        state.kinds.update(result["kinds"])  # type: ignore[arg-type]
        state.passes.update(result["passes"])  # type: ignore[arg-type]
        if result["wrong"]:
            state.wrong[str(result["seed"])] = str(result["wrong"])
            print(f"seed {result['seed']}: {result['wrong']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, help="how many; without end by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, default=Path("out/fuzz/differential.json"))
    parser.add_argument("--report", action="store_true", help="only print what the search has covered")
    parser.add_argument("--batch", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        run_batch(*given.batch)
        return 0
    state = State.load(given.state)
    if given.report:
        print(f"{state.programs} programs, {len(state.wrong)} wrong\n{report(state.kinds, state.passes)}")
        return 0
    search(state, given.state, given.programs, given.workers)
    return 1 if state.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
