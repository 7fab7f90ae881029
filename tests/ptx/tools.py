"""NVIDIA's assembler and disassembler, where they are installed: on the path, in wheels, or where WEFT_CUDA says."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

MISSING = "ptxas and nvdisasm are not installed: the extra `cuda-tools` has them"


def _tool(name: str) -> str | None:
    places = [os.environ["WEFT_CUDA"]] if os.environ.get("WEFT_CUDA") else []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        places.extend(str(path) for path in Path(root).glob("cu*/bin"))
    return next((found for place in places if (found := shutil.which(name, path=place))), shutil.which(name))


PTXAS = _tool("ptxas")
NVDISASM = _tool("nvdisasm")


def assemble(text: str, arch: str, *options: str) -> bytes:
    """What ptxas makes of a module; an AssertionError with its messages where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(text)
        run = subprocess.run(
            [PTXAS, f"-arch={arch}", *options, source, "-o", result], capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        return result.read_bytes()


def machine_code(text: str, arch: str) -> str:
    """The machine code that ptxas makes of a module, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "k.cubin")
        path.write_bytes(assemble(text, arch))
        return subprocess.run([NVDISASM, "-c", path], capture_output=True, text=True, check=True).stdout
