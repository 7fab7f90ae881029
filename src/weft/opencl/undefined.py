"""Functions that a program calls and nobody defines: hosts of the driver are told when they build it."""

from __future__ import annotations

import re

from weft.diag.errors import BuildError
from weft.opencl.source import ProgramSource
from weft.target.jit import is_loaded
from weft.target.places import place_of

_DECLARED = re.compile(r'^declare [^@\n]*@"?([\w.$]+)"?\(', re.M)
_OURS = ("llvm.", "weft.", "__weft_", "printf")


def check_defined(program: ProgramSource) -> None:
    """Refuse a program that calls what neither it, the builtin library nor the C library defines.

    Raises
    ------
    BuildError
        It does; the message names the functions, at the first call.
    """
    names = {name for name in _DECLARED.findall(program.text) if not name.startswith(_OURS)}
    missing = sorted(name for name in names if not is_loaded(name))
    if missing:
        raise BuildError(f"nobody defines {', '.join(missing)}", place_of(program.text, missing))
