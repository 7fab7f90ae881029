"""What is published: built twice it is the same bytes, and alone in an empty environment it runs the first example."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EPOCH = "1700000000"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", "out", "site", ".*_cache", ".hypothesis")


def build(source: Path, target: Path, *kinds: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *kinds]
    subprocess.run(command, cwd=source, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, check=True)
    return target


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist of two copies of the source, whose files have other times and modes."""
    folders: list[Path] = []
    for number, mask in enumerate((0o022, 0o077)):
        folder = tmp_path_factory.mktemp("build")
        old = os.umask(mask)
        shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT, copy_function=shutil.copyfile)
        for file in (folder / "source").rglob("*"):
            os.utime(file, (1e9 + number, 1e9 + number))
        folders.append(build(folder / "source", folder / "made"))
        os.umask(old)
    return folders[0], folders[1]


def test_two_builds_are_the_same_bytes(built: tuple[Path, Path]) -> None:
    first, second = map(digests, built)
    assert first == second and len(first) == 2


def test_the_wheel_of_the_sdist_is_the_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    (sdist,) = built[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    made = digests(build(source, tmp_path / "made", "-t", "wheel"))
    assert made.items() <= digests(built[0]).items()


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("*") if file.is_file()}
    assert names == {name for name in source if "__pycache__" not in name}
    assert "weft/py.typed" in names


def test_alone_it_runs_the_first_example(built: tuple[Path, Path], tmp_path: Path) -> None:
    (wheel,) = built[0].glob("*.whl")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python, empty = str(environment / "bin" / "python"), tmp_path / "empty"
    empty.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "PYTHON"))}
    clean["WEFT_CACHE_DIR"] = str(tmp_path / "cache")

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=empty, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    listed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    packages = {line.partition("==")[0] for line in listed.splitlines()}
    assert packages - {"pip", "setuptools"} == {"weft", "llvmlite", "msgspec", "numpy"}
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (empty / "first.py").write_text(f"{code}\nassert (y == 2).all()\n")
    run(python, "first.py")
    assert "processor" in run(str(environment / "bin" / "weft"), "info")
