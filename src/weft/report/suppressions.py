"""Comments by which a source says which violations are meant: ``# weft: ignore[gather]``, ``// weft: ignore``.

A comment at the end of a line is about that line, one on a line of its own about the next line of code.
``ignore-file[...]`` is about the whole file, wherever it stands. Without rules in brackets all are meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from weft.report.lint_rules import RULES, Violation

_COMMENT = re.compile(r"(?:#|//|;|/\*)\s*weft:\s*(ignore(?:-file)?)\b(?:\[([^\]]*)\])?")
_ALL = frozenset(rule.name for rule in RULES)


class Suppressions(Struct):
    """What the comments of one file say.

    Parameters
    ----------
    lines
        Rules that are ignored, by line.
    everywhere
        Rules that are ignored in the whole file.
    unknown
        Names in comments that no rule has, with their lines.
    """

    lines: dict[int, frozenset[str]] = field(default_factory=dict)
    everywhere: frozenset[str] = frozenset()
    unknown: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Suppressions:
        """Read them off the source."""
        found = cls()
        pending: frozenset[str] = frozenset()
        for number, line in enumerate(text.splitlines(), start=1):
            match = _COMMENT.search(line)
            alone = match is not None and not line[: match.start()].strip()
            if match is not None:
                rules = found._rules(number, match[2])
                if match[1] == "ignore-file":
                    found.everywhere |= rules
                elif alone:
                    pending |= rules
                    continue
                else:
                    found._ignore(number, rules)
            if pending and line.strip():
                found._ignore(number, pending)
                pending = frozenset()
        return found

    def _rules(self, line: int, names: str | None) -> frozenset[str]:
        if names is None:
            return _ALL
        wanted = frozenset(name.strip() for name in names.split(",") if name.strip())
        self.unknown += [(line, name) for name in sorted(wanted - _ALL)]
        return wanted & _ALL

    def _ignore(self, line: int, rules: frozenset[str]) -> None:
        self.lines[line] = self.lines.get(line, frozenset()) | rules

    def cover(self, violation: Violation) -> bool:
        """Whether a violation is meant."""
        name = violation.rule.name
        return name in self.everywhere or name in self.lines.get(violation.line, ())


def not_suppressed(
    violations: Iterable[Violation], text_of: Callable[[str], str]
) -> tuple[list[Violation], list[tuple[str, int, str]]]:
    """The violations that no comment of their file covers; and names of no rule, with file and line."""
    known: dict[str, Suppressions] = {}
    left: list[Violation] = []
    for violation in violations:
        if violation.file not in known:
            known[violation.file] = Suppressions.of(text_of(violation.file))
        if not known[violation.file].cover(violation):
            left.append(violation)
    unknown = [(file, line, name) for file, found in known.items() for line, name in found.unknown]
    return left, unknown
