"""Hosts in other languages, and the command that tells loaders of the driver."""

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cli import main
from weft.device.host.shared_library import link_shared
from weft.frontend.clang import find_clang


def test_a_host_in_c(vendors: Path, tmp_path: Path) -> None:
    driver = (vendors / "weft.icd").read_text().strip()
    source, library = Path(__file__).with_name("host.c"), tmp_path / "host.so"
    command = [*find_clang("x86_64-linux-gnu"), "--target=x86_64-linux-gnu", "-std=c99", "-Wno-everything"]
    subprocess.run([*command, "-fPIC", "-c", str(source), "-o", str(tmp_path / "host.o")], check=True)
    link_shared([tmp_path / "host.o"], library)
    # As a library whose `main` a process with another Python's environment calls.
    start = f"import ctypes; a = (ctypes.c_char_p * 2)(b'host', {driver.encode()!r}); "
    start += f"raise SystemExit(ctypes.CDLL({str(library)!r}).main(2, a))"
    done = subprocess.run(["python3", "-c", start], capture_output=True, text=True, timeout=300)
    assert done.stdout == "0 0 -38 -36\n", done.stderr


def test_the_vendor_file(
    vendors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(vendors.parents[1]))
    assert main(["opencl", "vendors"]) == 0
    assert capsys.readouterr().out.strip() == str(vendors)
    assert main(["opencl", "install", "--folder", str(tmp_path / "vendors")]) == 0
    assert (tmp_path / "vendors" / "weft.icd").read_text() == (vendors / "weft.icd").read_text()


def test_a_folder_that_cannot_be_written(
    vendors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["opencl", "install", "--folder", str(tmp_path / "file")]) == 1
    assert "OCL_ICD_VENDORS" in capsys.readouterr().err


def test_a_host_that_forks(host: Callable[..., str]) -> None:
    printed = host(
        """
import os
source = "kernel void f(global int *x) { x[get_global_id(0)] = get_global_id(0); }"
def runs(context, queue):
    out, target = np.empty(5000, np.int32), cl.Buffer(context, flags.READ_WRITE, 20000)
    cl.Program(context, source).build().f(queue, out.shape, None, target)
    cl.enqueue_copy(queue, out, target)
    print((out == np.arange(5000)).all(), flush=True)
runs(context, queue)
if (child := os.fork()) == 0:
    own = cl.Context([device])
    runs(own, cl.CommandQueue(own))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
runs(context, queue)
""",
        WEFT_NUM_THREADS="2",
    )
    assert printed.split() == ["True"] * 3


def test_the_compiler_ends_with_its_host(vendors: Path) -> None:
    """Even while it compiles."""
    start, other = socket.socketpair()
    with start, other:
        command = [sys.executable, "-P", "-m", "weft.opencl.compiler"]
        compiler = subprocess.Popen(command, stdin=other)
        other.close()
        slow = "".join(
            f"kernel void k{n}(global float *x) {{ x[0] = pow(x[1], {n}.5f); }}\n" for n in range(400)
        )
        fields = [b"build", b"", slow.encode()]
        body = b"".join(struct.pack("<Q", len(f)) + f for f in fields)
        start.sendall(struct.pack("<Q", len(body)) + body)
        time.sleep(1)
        assert compiler.poll() is None
    assert compiler.wait(timeout=10) is not None
