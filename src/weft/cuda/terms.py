"""Options of ``cuda.jit`` that concern launches: bounds of blocks, extensions, and what only a GPU has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from weft.diag.errors import SettingError
from weft.diag.remarks import Remark, RemarkKind

_CARVEOUTS = ("default", "MaxL1", "MaxShared")


class LaunchTerms(Struct, frozen=True):
    """What a kernel asks of its launches.

    Parameters
    ----------
    extensions
        Objects whose ``prepare_args`` changes the arguments of each launch (`weft.cuda.transfers.extended`).
    max_threads
        Threads that a block may have; None for as many as any.
    remarks
        What was asked for that changes nothing on a CPU.
    """

    extensions: tuple[Any, ...] = ()
    max_threads: int | None = None
    remarks: tuple[Remark, ...] = ()


def launch_terms(
    extensions: Sequence[Any], launch_bounds: Any, shared_memory_carveout: Any, link: Sequence[Any] | None
) -> LaunchTerms:
    """The terms that these options stand for.

    Raises
    ------
    SettingError
        An option has a value that it cannot have.
    """
    remarks: list[str] = []
    bounds = _bounds(launch_bounds)
    if len(bounds) > 1:
        remarks.append("launch_bounds: only the threads of a block count on a CPU")
    if shared_memory_carveout is not None:
        _require_carveout(shared_memory_carveout)
        remarks.append("shared_memory_carveout changes nothing on a CPU")
    if link:
        remarks.append("link: code for GPUs is not linked; functions declared for it cannot be called")
    return LaunchTerms(
        tuple(extensions),
        bounds[0] if bounds else None,
        tuple(Remark(RemarkKind.MISSED, text) for text in remarks),
    )


def _bounds(given: Any) -> tuple[int, ...]:
    """Launch bounds as a tuple: threads of a block, blocks of a multiprocessor, blocks of a cluster."""
    if given is None:
        return ()
    bounds = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(bounds) <= 3:
        raise SettingError(
            f"Got {len(bounds)} launch bounds: {given!r}",
            hint="give the threads of a block, or (threads, blocks, cluster)",
        )
    if not all(isinstance(bound, int) and bound > 0 for bound in bounds):
        raise SettingError(f"launch_bounds={given!r}", hint="launch bounds are positive integers")
    return bounds


def _require_carveout(given: Any) -> None:
    if isinstance(given, int) and not -1 <= given <= 100:
        raise SettingError(
            f"shared_memory_carveout={given}: it must be between -1 and 100",
            hint="it is a percentage, or -1 for the default",
        )
    if not isinstance(given, int) and given not in _CARVEOUTS:
        raise SettingError(
            f"shared_memory_carveout={given!r}: Invalid carveout value",
            hint=f"it may be {', '.join(map(repr, _CARVEOUTS))} or a percentage",
        )
