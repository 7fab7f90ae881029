"""``weft lint``: what costs in kernels and what is wrong with them, for continuous integration and before commits."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import weft
from weft.cli.progress import progress
from weft.cli.reports import READ, UsageError, report_on_file
from weft.diag.errors import SignatureError, WeftError
from weft.diag.words import counted
from weft.report import baseline, sarif
from weft.report.build import ReportOptions
from weft.report.lint_rules import NOT_COMPILED, RULES, Level, Violation, violations
from weft.report.suppressions import not_suppressed

_FOUND_IN_FOLDERS = (".py", ".cu", ".cl")
_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "build", "dist", "venv"}
_USES_WEFT = re.compile(r"^\s*(?:import|from)\s+(?:weft|numba)\b|@cuda\.jit", re.MULTILINE)


class _Told(Struct, frozen=True):
    """A violation as it is told."""

    violation: Violation
    file: str
    key: str


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "lint", help="violations of rules about kernels, for continuous integration", description=__doc__
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files that weft analyze reads, and folders, of which .py files with kernels, .cu and .cl files are taken",
    )
    parser.add_argument("--sarif", metavar="OUT", help="write SARIF 2.1.0")
    parser.add_argument(
        "--docs", metavar="URL", default="", help="where docs/ is on the web, for links in SARIF"
    )
    parser.add_argument(
        "--max-cost",
        metavar="N",
        type=float,
        help="what costs a lane group more than N cycles is an error, and what costs less a note",
    )
    parser.add_argument("--baseline", metavar="FILE", help="do not tell what this file knows")
    parser.add_argument("--write-baseline", metavar="FILE", help="write what is found to a baseline")
    parser.add_argument(
        "--ignore", metavar="RULE", action="append", default=[], choices=[r.name for r in RULES],
        help="a rule that is not asked for (repeatable)",
    )  # fmt: skip
    parser.add_argument("--notes", action="store_true", help="tell notes, too, which are no failure")
    parser.add_argument(
        "--gpu", action="store_true", help="the rules of GPUs, too: uncoalesced, bank-conflict"
    )
    parser.add_argument("--clang", metavar="OPTION", action="append", default=[], help="an option for clang")
    parser.add_argument("--rules", action="store_true", help="list the rules")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Tell the violations: 0 for none but notes, 1 for some, 2 for wrong usage."""
    if options.rules:
        for rule in RULES:
            print(f"{rule.name:26} {rule.level:8} {rule.summary}")
        return 0
    try:
        return _lint(options)
    except UsageError as error:
        print(f"weft lint: {error}", file=sys.stderr)
        return 2


def _lint(options: argparse.Namespace) -> int:
    if not options.paths:
        raise UsageError("name files or folders")
    known: Counter[str] = Counter()
    if options.baseline:
        known = _baseline(Path(options.baseline))
    found: list[Violation] = []
    files = list(_files(options.paths))
    with progress("weft lint", len(files)) as step:
        for name in files:
            step(name)
            found += _violations(name, options)
    texts = _Texts()
    found, unknown = not_suppressed(found, texts.of)
    for file, line, rule in unknown:
        print(f"{_shown(file)}:{line}: no rule is called {rule!r} (weft lint --rules)", file=sys.stderr)
    found = [_weighed(v, options.max_cost) for v in found if v.rule.name not in options.ignore]
    told = [_Told(v, _shown(v.file), baseline.fingerprint(v, texts.line(v), _shown(v.file))) for v in found]
    if options.write_baseline:
        kept = [(t.violation, t.key) for t in told if options.notes or t.violation.level is not Level.NOTE]
        _write(options.write_baseline, baseline.as_text(kept))
        return 0
    new = set(map(id, baseline.unknown([(t.violation, t.key) for t in told], known)))
    told = [t for t in told if id(t.violation) in new]
    if options.sarif:
        log = sarif.as_sarif([(t.violation, t.file, t.key) for t in told], weft.__version__, options.docs)
        _write(options.sarif, sarif.as_text(log))
    failures = [t for t in told if t.violation.level is not Level.NOTE]
    for each in told if options.notes else failures:
        print(_text(each, texts))
    notes = len(told) - len(failures)
    more = f", {counted(notes, 'note', 'notes')}" if notes else ""
    more += " (--notes shows them)" if notes and not options.notes else ""
    print(counted(len(failures), "violation", "violations") + more, file=sys.stderr)
    return 1 if failures else 0


def _baseline(file: Path) -> Counter[str]:
    try:
        return baseline.known_in(file.read_text())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except baseline.BaselineError as error:
        raise UsageError(f"{file}: {error}") from None


def _files(paths: Sequence[str]) -> Iterator[str]:
    """The files that paths name; of folders those that are likely to have kernels."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS)
            for name in sorted(files):
                file = Path(folder, name)
                if file.suffix in _FOUND_IN_FOLDERS and _may_have_kernels(file):
                    yield str(file)


def _may_have_kernels(file: Path) -> bool:
    if file.suffix != ".py":
        return True
    return _USES_WEFT.search(file.read_text(errors="replace")) is not None


def _violations(name: str, options: argparse.Namespace) -> Iterable[Violation]:
    if Path(name).suffix not in READ:
        raise UsageError(f"{name}: weft lint reads {', '.join(READ)}")
    try:
        report = report_on_file(name, ReportOptions(gpus=options.gpu), clang=options.clang)
    except SignatureError as error:
        # A file without kernels, or whose kernels are compiled for what comes, has nothing to be looked at.
        print(f"weft lint: {name} is left out: {error.message}", file=sys.stderr)
        return []
    except WeftError as error:
        span = error.span
        file, line, column = (name, 0, 0) if span is None else (span.file, span.line, span.column)
        text = error.message
        return [Violation(NOT_COMPILED, NOT_COMPILED.level, "", file, line, column, text, error.hint or "")]
    return [v for function in report.functions for v in violations(function, name)]


def _weighed(violation: Violation, most: float | None) -> Violation:
    """The violation with the level that its cost has, where there is a limit."""
    if most is None or not violation.cycles:
        return violation
    return replace(violation, level=Level.ERROR if violation.cycles > most else Level.NOTE)


class _Texts:
    """The texts of files, read when they are asked for."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, file: str) -> str:
        """The text of a file; empty if it cannot be read."""
        if file not in self._known:
            try:
                self._known[file] = Path(file).read_text(errors="replace")
            except OSError:
                self._known[file] = ""
        return self._known[file]

    def line(self, violation: Violation) -> str:
        """The text of the line of a violation."""
        lines = self.of(violation.file).splitlines()
        return lines[violation.line - 1] if 0 < violation.line <= len(lines) else ""


def _shown(file: str) -> str:
    """A file relative to where the command runs, if it is below."""
    path = os.path.relpath(os.path.abspath(file))
    return os.path.abspath(file) if path.startswith("..") else path.replace(os.sep, "/")


def _text(told: _Told, texts: _Texts) -> str:
    v = told.violation
    place = told.file + (f":{v.line}" if v.line else "") + (f":{v.column}" if v.column else "")
    cost = f" ({v.cycles:,.0f} cycles)" if v.cycles and not v.rule.summary.endswith("(--gpu).") else ""
    lines = [f"{place}: {v.level} [{v.rule.name}] {v.message}{cost}"]
    if source := texts.line(v).strip():
        lines.append(f"    {source}")
    lines += [f"      {step}" for step in v.because]
    if v.hint:
        lines.append(f"    hint: {v.hint}")
    return "\n".join(lines)


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None
