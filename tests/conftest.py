"""Golden files, hypothesis profiles and the environment of kernels, for every room's tests."""

import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

# Every launch checks passes, some of each program's, and tests leave nothing in the user's cache.
os.environ.setdefault("WEFT_CHECK", "1" if os.environ.get("WEFT_FUZZ") else "8")
os.environ.setdefault("WEFT_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"weft-tests-{os.getuid()}"))

# Byte code is kept, wherever the tests run: else each process that they begin compiles all of weft.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

hypothesis.settings.register_profile("fast", deadline=None, max_examples=40)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
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


# Compilers make many objects and few cycles: looking for these as often as Python does takes a quarter of the time.
gc.set_threshold(200_000, 10, 10)


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
def pytest_runtest_call() -> Generator[None]:
    """Skip a test at the point where it runs code of a level that this machine lacks."""
    from weft.diag.errors import SettingError
    from weft.machine.host import is_runnable

    try:
        yield
    except SettingError as error:
        if is_runnable():
            raise
        pytest.skip(error.message)


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
