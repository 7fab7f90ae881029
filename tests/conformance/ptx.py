"""Compiles the cases of the suite to PTX, and assembles them: ``python -m conformance.ptx``.

Prints how many there are, and each that is refused, by weft or by ``ptxas``. `REFUSED` lists what weft refuses with the
reason; anything else is an error. One kernel in `SHARE` is compiled; with ``WEFT_FUZZ`` all are, for all architectures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conformance.suite import every_case
from weft.cuda.to_ptx import ptx_of
from weft.diag.errors import WeftError
from weft.frontend.python.typeof import typeof
from weft.machine.cuda_tools import find_program

SHARE = 1 if os.environ.get("WEFT_FUZZ") else 60
ARCHITECTURES = ("sm_75", "sm_90") if os.environ.get("WEFT_FUZZ") else ("sm_90",)

REFUSED: dict[str, str] = {}
"""Cases that weft refuses, with what its message says."""


def problems(counts: Counter[str], share: int = SHARE) -> Iterator[str]:
    """What is refused that should not be, and what is not that should be; `counts` tells how many went how."""
    ptxas = find_program("ptxas")
    assert ptxas is not None
    for name, case in every_case().items():
        if zlib.crc32(name.encode()) % share:
            continue
        counts["cases"] += 1
        for arch in ARCHITECTURES:
            try:
                text = ptx_of(case.kernel, tuple(map(typeof, case.args())), arch).text
            except WeftError as error:
                counts[f"{arch} refused by weft"] += 1
                if REFUSED.get(name, "?") not in str(error):
                    yield f"{name}: {arch}: {error}"
                continue
            if name in REFUSED:
                yield f"{name}: {arch}: compiled, although listed as refused"
            said = assemble(ptxas, text, arch)
            counts[f"{arch} {'refused' if said else 'accepted'} by ptxas"] += 1
            if said:
                yield f"{name}: {arch}: ptxas: {said}"


def assemble(ptxas: Path, text: str, arch: str) -> str:
    """What ``ptxas`` says against a module; nothing where it accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(text)
        command = [ptxas, "-arch", arch, "-o", Path(folder, "kernel.cubin"), source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr + done.stdout


if __name__ == "__main__":
    totals: Counter[str] = Counter()
    found = list(problems(totals))
    print("\n".join(found))
    print(dict(totals))
    sys.exit(bool(found))
