"""Peers that are measured in fresh processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.harness import Peer, Prepared

ROOT = Path(__file__).parent.parent

_LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "WEFT_CHECK")
"""What would slow one peer only: pip stores the bytecode of those that it installs."""


def probe(arguments: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Run `bench.probe` in a new process and return the seconds that it prints."""
    command = [sys.executable, "-m", "bench.probe", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    done = subprocess.run(
        command, cwd=ROOT, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        problem = last[0] if last else f"exit status {done.returncode}"
        raise (ImportError if "ModuleNotFoundError" in problem else RuntimeError)(problem)
    return float(done.stdout.split()[-1])


def cold(name: str, arguments: tuple[str, ...], cache: Path) -> Peer:
    """Return a peer whose every process finds its disk cache empty."""

    def sample() -> float:
        shutil.rmtree(cache, ignore_errors=True)
        return probe(arguments, _cache_at(cache))

    return Peer(name, lambda: Prepared(sample))


def warm(name: str, arguments: tuple[str, ...], cache: Path) -> Peer:
    """Return a peer whose processes find in the disk cache what the first of them put there."""

    def prepare() -> Prepared:
        probe(arguments, _cache_at(cache))
        return Prepared(lambda: probe(arguments, _cache_at(cache)))

    return Peer(name, prepare)


def _cache_at(folder: Path) -> dict[str, str]:
    return {"WEFT_CACHE_DIR": str(folder / "weft"), "NUMBA_CACHE_DIR": str(folder / "numba")}
