"""NVIDIA's assembler and disassembler, where they are installed."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from weft.machine.cuda_tools import find_program

MISSING = "ptxas and nvdisasm are not installed: the extra `ptx` has them"


PTXAS = find_program("ptxas")
NVDISASM = find_program("nvdisasm")


def assemble(text: str, arch: str, *options: str) -> bytes:
    """What ptxas makes of a module; an AssertionError with its messages where it refuses.

    An assembler that is older than the module's version of PTX cannot tell, and skips the test.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(text)
        run = subprocess.run(
            [PTXAS, f"-arch={arch}", *options, source, "-o", result], capture_output=True, text=True
        )
        if "Unsupported .version" in run.stderr:
            pytest.skip(run.stderr.partition("fatal   : ")[2].splitlines()[0])
        assert run.returncode == 0, run.stderr
        return result.read_bytes()


def machine_code(text: str, arch: str) -> str:
    """The machine code that ptxas makes of a module, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "k.cubin")
        path.write_bytes(assemble(text, arch))
        return subprocess.run([NVDISASM, "-c", path], capture_output=True, text=True, check=True).stdout
