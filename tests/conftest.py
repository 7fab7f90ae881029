"""Golden files, hypothesis profiles and the environment of kernels, for every room's tests."""

import contextlib
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import hypothesis
import pytest

from pairs import WHOLE, Product, spread

HERE = Path(__file__).parent

# Every launch checks passes, some of each program's, and tests leave nothing in the user's cache.
SOME = "8"
os.environ.setdefault("WEFT_CHECK", "1" if WHOLE else SOME)
KEPT = os.environ.setdefault(
    "WEFT_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"weft-tests-{os.getuid()}")
)

# Byte code is kept, wherever the tests run: else each process that they begin compiles all of weft.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

hypothesis.settings.register_profile("fast", deadline=None, max_examples=25)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True)
if os.environ.get("WEFT_FUZZ"):
    hypothesis.settings.register_profile(
        "fuzz",
        deadline=None,
        max_examples=int(os.environ["WEFT_FUZZ"]),
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("fuzz")
else:
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "fast")


# Compilers make many objects and few cycles: looking for these as often as Python does takes a quarter of the time,
# and what has lived through one search mostly lives on.
gc.set_threshold(1_000_000, 60, 10)


UNCHECKED = pytest.StashKey[bool]()
"""Set of tests whose passes are not checked."""

CHECKED = 8
"""Of so many cases of a test, or of all tests of a file that have fewer, one has its passes checked.

To check all takes a third of the time.
"""

QUICK = (
    "analysis", "conformance", "codegen", "cuda", "examples", "frontend", "loops", "opencl", "passes", "ptx",
    "sequential", "tensors", "transform",
)  # fmt: skip
"""Rooms of tests that ask what code computes: LLVM takes little care for most of what is not checked.

To let it do all that it does for users takes a third of the time; a flag that is wrong shows only there, so a quarter
of the tests have it, of many cases of one test those that are checked, and all of them where everything is run. Tests
that look at machine code say so (``optimized``).
"""

CARED_FOR = 4
"""Of so many tests of a file with few cases each, LLVM does for one all that it does for users."""

LIGHT = pytest.StashKey[bool]()
"""Set of tests that run such code."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests marked ``spread`` keep cases that have each value of each parameter, or all with ``WEFT_FUZZ``."""
    if WHOLE or any("[" in argument for argument in config.args):
        return
    cases: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function):
            has_cases = hasattr(item, "callspec")
            cases.setdefault(item.nodeid.partition("[" if has_cases else "::")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    groups: dict[str, list[pytest.Function]] = {}
    for name, many in cases.items():
        kept = many
        if many[0].get_closest_marker("spread"):
            chosen = spread([_values(i) for i in many], [not _may_run(i.callspec.params) for i in many])
            kept = [many[k] for k in chosen]
            left_out.update(set(many).difference(kept))
        groups.setdefault(name if len(kept) >= CHECKED else name.partition("::")[0], []).extend(kept)
    for name, many in groups.items():
        step = min(CHECKED, len(many))
        cared_for = CHECKED if "::" in name else CARED_FOR
        for number, item in enumerate(many):
            checked = crc32(name.encode()) % step
            item.stash[UNCHECKED] = number % step != checked
            item.stash[LIGHT] = (number - checked) % cared_for != 0
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _values(case: pytest.Function) -> dict[str, Hashable]:
    """What a case has of each decorator that gives it parameters, or of each parameter where they are a product."""
    values: dict[str, Hashable] = {}
    for marker in case.iter_markers("parametrize"):
        given = marker.args[0]
        names = given.replace(",", " ").split() if isinstance(given, str) else given
        of_each = {name: _identity(case.callspec.params[name]) for name in names}
        values |= of_each if isinstance(marker.args[1], Product) else {str(given): tuple(of_each.values())}
    return values


def _identity(value: object) -> Hashable:
    """What tells two values apart: numbers and texts are the same if they are equal, others if they are one."""
    return (type(value), value) if isinstance(value, int | float | str) else id(value)


def _may_run(parameters: Mapping[str, Any]) -> bool:
    """Whether this machine has the level of instructions that a case is of, if it names one."""
    from weft.machine.host import host
    from weft.machine.targets import Isa, machine_of, misses

    names = [v.cpu if isinstance(v, Isa) else v for v in parameters.values() if isinstance(v, Isa | str)]
    machines = [machine_of(host().arch, name) for name in names]
    return not any(machine is not None and misses(host(), machine) for machine in machines)


def pytest_collection_finish() -> None:
    """Leave what was imported out of the search."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files from what the tests produce now, instead of comparing",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Skip a test at the point where it runs code of a level that this machine lacks.

    Where nothing else is asked for, passes are checked for some cases of a test. The others keep code for themselves,
    which without checks would be found again by whatever test comes later.
    """
    from quick_code import quick_code
    from weft.diag.errors import SettingError
    from weft.machine.host import is_runnable

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        if item.stash.get(UNCHECKED, False) and os.environ["WEFT_CHECK"] in (SOME, "0"):
            patch.setenv("WEFT_CHECK", "0")
            if os.environ.get("WEFT_CACHE_DIR") == KEPT:
                patch.setenv("WEFT_CACHE_DIR", stack.enter_context(tempfile.TemporaryDirectory()))
            if item.stash.get(LIGHT, False) and _is_quick(item):
                stack.enter_context(quick_code())
        try:
            yield
        except SettingError as error:
            if is_runnable():
                raise
            pytest.skip(error.message)


def _is_quick(item: pytest.Item) -> bool:
    return item.path.relative_to(HERE).parts[0] in QUICK and not item.get_closest_marker("optimized")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what tests have recorded as counted, whichever process ran them."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        counts.update({what: n for what, n in report.user_properties if what.startswith("counted ")})
    for what, number in counts.items():
        terminalreporter.write_line(f"{what}: {number:,}")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file ``golden/<name>`` beside the test; a missing file fails."""
    folder = Path(request.path).parent / "golden"

    def check(text: str, name: str) -> None:
        file = folder / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return
        if not file.exists():
            pytest.fail(f"{file} is missing: run pytest with --update-golden and read what it writes")
        assert text == file.read_text(), f"{file} differs: --update-golden accepts the new text"

    return check


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of `weft.jit` are compiled up to LLVM's IR, as for a better machine: of remarks no code is needed."""
    monkeypatch.setattr("weft.loops.compiled.is_runnable", lambda: False)
