"""Which systems weft runs on, and what the others lack."""

from __future__ import annotations

_LACKING = {
    "darwin": (
        "macOS",
        "futexes, real-time signals, and libmvec for vector mathematics",
    ),
    "win32": ("Windows", "POSIX threads and signals, locks on files, and libmvec for vector mathematics"),
}


def require_platform(system: str) -> None:
    """Refuse to be imported where nothing could run.

    Parameters
    ----------
    system
        As `sys.platform` has it.

    Raises
    ------
    ImportError
        The system is not Linux; the message says what is missing.
    """
    if system == "linux":
        return
    name, lacking = _LACKING.get(system, (system, "what weft asks of Linux and glibc"))
    raise ImportError(
        f"weft runs on Linux only: {name} lacks {lacking}. "
        "Install it in a virtual machine, a container or WSL with Linux on x86-64."
    )
