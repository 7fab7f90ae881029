"""Importing a file of the user's, to find what it defines."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from weft.diag.errors import UnsupportedError, WeftError
from weft.diag.source import SourceSpan


def import_file(file: Path) -> ModuleType:
    """Run a Python file as a module that is not the main program; what it prints goes to standard error.

    Raises
    ------
    UnsupportedError
        It raised an exception.
    """
    root, name = _place(file)
    # As for a script, and as for `python -m`: what stands beside it, or here, can be imported.
    places = [str(root), os.getcwd()]
    sys.path[:0] = places
    try:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Classes look their module up by its name.
        sys.modules[name] = module
        with _output_to_stderr():
            spec.loader.exec_module(module)
    except WeftError:
        raise
    except (Exception, SystemExit) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
        span = SourceSpan(str(file), frames[-1].lineno or 1) if frames else None
        raise UnsupportedError(
            f"importing the file raised {type(error).__name__}: {error}",
            span,
            hint="analysis imports the file to find its kernels; keep other work under"
            ' if __name__ == "__main__"',
        ) from None
    finally:
        for place in places:
            sys.path.remove(place)
    return module


@contextlib.contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Send what is written to standard output to standard error: by Python, by C code and by other processes."""
    sys.stdout.flush()
    own = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
        sys.stderr.flush()
    finally:
        os.dup2(own, 1)
        os.close(own)


def _place(file: Path) -> tuple[Path, str]:
    """The folder that imports start from, and the module's name there, with those of the packages it is in."""
    folder = file.resolve().parent
    names = [file.stem]
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names) if len(names) > 1 else f"weft_analyzed_{file.stem}"
