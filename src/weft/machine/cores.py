"""What differs between cores that have the same instructions, by the beginning of LLVM's name of the processor.

A level, as ``x86-64-v4``, names no core: code for it is what is best on most.
"""

from __future__ import annotations

from msgspec import Struct


class Core(Struct, frozen=True):
    """A core.

    Parameters
    ----------
    reads_rows_steadily
        Whether several rows are read from memory as fast as one (`weft.costs.streams`).
    wide_split
        Cycles that a load of 64 bytes takes more where it is not aligned to a cache line: it takes two lines. A fit of
        brushes for both (`weft.costs.vector_code`, `weft.codegen.widen.shifted`).
    wide_shuffle
        Cycles of a shuffle of two registers of 512 bits, where an addition takes a half. On Zen 4 all such operations
        take two halves of two pipes, and shuffles have pipes that additions do not use; on Intel's server cores there
        is one port for shuffles.
    slow_gathers
        Whether lanes load faster one by one than by a gather, whose microcode on Intel's cores from Skylake to Ice Lake
        waits for all of its loads since 2023 (gather data sampling). Measured on Ice Lake: a gather of 8 doubles, or
        of 16 floats, takes 25 cycles from the nearest cache; 8 loads of each 7 cycles.
    slow_masked_stores
        Whether stores under a mask of a vector are microcode (`weft.target.rewrites.whole_stores`).
    fast_gathers
        Whether a gather is faster than its lanes' loads one by one, without registers for masks, too. Measured on
        Emerald Rapids, whose core is that of Alder Lake with AVX-512: a gather of 8 floats takes 4.2 cycles from the
        nearest cache, 8 loads 8.2; two of 4 doubles 6.0. Of small cores, as Gracemont and Crestmont, and of Haswell
        and Broadwell this is not known.
    fast_divisions
        Whether the divider keeps up with estimates of quotients of 512 bits and what makes them exact: on AMD's cores.
    root_cycles
        How long roots of a register of floats keep the divider busy, as is published of cores: of 8 floats 6 cycles
        since Skylake, 7 on Zen 3, 14 on Haswell and Broadwell; of 4 floats 3 to 7 since Ivy Bridge, 14 and 18 before.
    """

    reads_rows_steadily: bool = False
    wide_split: float = 0.8
    wide_shuffle: float = 1.0
    slow_gathers: bool = False
    slow_masked_stores: bool = False
    fast_gathers: bool = False
    fast_divisions: bool = False
    root_cycles: float = 8.0


MOST_LONE_LOADS = 32
"""Gathers of more lanes stay even where they are slow: so many loads are much code."""

ANY_CORE = Core()

_SLOW_GATHERS = Core(slow_gathers=True)
_FAST_GATHERS = Core(fast_gathers=True)
_CORES = {
    "znver4": Core(True, 0.5, 0.5, slow_masked_stores=True, fast_divisions=True),
    "znver": Core(True, slow_masked_stores=True, fast_divisions=True),
    **dict.fromkeys(
        ("skylake", "cascadelake", "cooperlake", "cannonlake", "icelake", "tigerlake", "rocketlake"),
        _SLOW_GATHERS,
    ),
    **dict.fromkeys(
        ("alderlake", "raptorlake", "meteorlake", "arrowlake", "lunarlake", "pantherlake", "wildcatlake"),
        _FAST_GATHERS,
    ),
    **dict.fromkeys(("nehalem", "westmere", "sandybridge", "haswell", "broadwell"), Core(root_cycles=16.0)),
    **dict.fromkeys(
        ("sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids", "novalake"), _FAST_GATHERS
    ),
}


def core_of(cpu: str) -> Core:
    """What is known of a processor by LLVM's name."""
    return next((core for prefix, core in _CORES.items() if cpu.startswith(prefix)), ANY_CORE)
