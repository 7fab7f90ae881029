"""Words of messages."""

from __future__ import annotations


def counted(number: int, one: str, several: str) -> str:
    """The number with the words for one, or for none and several: ``1 branch``, ``2 branches``."""
    return f"{number} {one if number == 1 else several}"
