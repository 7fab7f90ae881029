"""Violations that are known: those of a baseline are not told again, so that a check can begin in an old project.

A violation is known by its rule, file, function and the text of its line, not by the line's number: what is inserted
above it changes nothing. As many are known as the baseline has.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from weft.report.lint_rules import Violation

VERSION = 1

LineText = Callable[[Violation], str]
"""The text of the line of a violation."""


class BaselineError(ValueError):
    """A file is no baseline."""


def fingerprint(violation: Violation, text: str, file: str) -> str:
    """What tells a violation from others, in a file as the user calls it."""
    parts = (violation.rule.name, file, violation.function, " ".join(text.split()))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def as_text(fingerprints: Iterable[tuple[Violation, str]]) -> str:
    """A baseline of violations with their fingerprints, as JSON."""
    entries: dict[str, dict[str, Any]] = {}
    for violation, key in fingerprints:
        entry = entries.setdefault(
            key, {"rule": violation.rule.name, "function": violation.function, "count": 0}
        )
        entry["count"] += 1
    data = {"version": VERSION, "known": dict(sorted(entries.items()))}
    return json.dumps(data, indent=1) + "\n"


def known_in(text: str) -> Counter[str]:
    """How many of each fingerprint a baseline has.

    Raises
    ------
    BaselineError
        It is none.
    """
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise BaselineError(f"a baseline of version {data['version']}, where {VERSION} is read")
        return Counter({str(key): int(entry["count"]) for key, entry in data["known"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BaselineError):
            raise
        raise BaselineError("no baseline of weft lint") from None


def unknown(fingerprints: Iterable[tuple[Violation, str]], known: Counter[str]) -> list[Violation]:
    """The violations that a baseline does not have."""
    left = known.copy()
    found: list[Violation] = []
    for violation, key in fingerprints:
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(violation)
    return found
