"""Functions that are in no file: `exec`, ``python -c``, standard input, the prompt."""

import os
import pty
import subprocess
import sys
import time
from collections import deque

import numpy as np
import pytest

import weft
from weft import cuda

PROGRAM = """
import numpy as np
import weft
from weft import cuda

@cuda.jit
def number(x):
    i = cuda.grid(1)
    x[i] = i * 3

x = np.zeros(4)
number[1, 4](x)
print(x.tolist(), weft.jit(lambda a: a + 1)(41))
"""
RESULT = "[0.0, 3.0, 6.0, 9.0] 42\n"


def run(*args, **options):
    environment = {**os.environ, "WEFT_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, env=environment, timeout=300, **options
    )
    return done.stdout, done.stderr


def test_the_text_of_the_command_line_is_found():
    assert run("-c", PROGRAM) == (RESULT, "")


def test_a_file_on_standard_input_is_read_again(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with open(tmp_path / "program.py") as file:
        assert run("-", stdin=file) == (RESULT, "")


def test_what_came_through_a_pipe_is_gone():
    assert "source text of number() cannot be found" in run("-", input=PROGRAM)[1]


def test_the_prompt_knows_its_history():
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(WEFT_CACHE="0", TERM="dumb")
        os.execv(sys.executable, [sys.executable, "-i", "-q"])
    said = b""
    for line in [*PROGRAM.replace("\n\n", "\n").splitlines()[1:8], "", *PROGRAM.splitlines()[-3:], "exit()"]:
        os.write(terminal, line.encode() + b"\n")
        time.sleep(0.02)
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:
        os.waitpid(child, 0)
    assert RESULT.strip() in said.decode()


def test_exec_is_seen_where_the_decorator_runs_inside():
    text = "from weft import cuda\n@cuda.jit\ndef put(x, value):\n    x[cuda.grid(1)] = value * 2\n"
    names = {}
    exec(text, names)
    del text
    x = np.zeros(2)
    names["put"][1, 2](x, 4.0)
    assert x.tolist() == [8, 8]


def test_exec_is_seen_while_its_caller_runs():
    def made():
        names = {}
        exec("def plus(a):\n    return a + 40\n", names)
        return weft.jit(names["plus"])

    assert made()(2) == 42


def test_a_text_that_is_gone_is_said_to_be(monkeypatch):
    # Another test may have asked that such texts be kept.
    monkeypatch.setattr("weft.frontend.python.unfiled_text._kept", deque(maxlen=0))

    def made():
        names = {}
        exec("def lost(a):\n    return a\n", names)
        return names["lost"]

    with pytest.raises(weft.errors.SourceError, match="cannot be found") as caught:
        cuda.jit("void(int64)")(made())
    assert "keep_exec_source" in caught.value.hint


MADE_ELSEWHERE = """
import weft
weft.keep_exec_source()

def make(sign):
    names = {}
    exec(f"def change(x):\\n    return x {sign} 1", names)
    return names["change"]

print(weft.jit(make("+"))(41), weft.jit(make("-"))(41))
"""


def test_texts_of_exec_are_kept_where_the_program_asks_for_it(tmp_path):
    (tmp_path / "program.py").write_text(MADE_ELSEWHERE)
    assert run(str(tmp_path / "program.py")) == ("42 40\n", "")
    (tmp_path / "other.py").write_text(MADE_ELSEWHERE.replace("weft.keep_exec_source()", ""))
    assert "call weft.keep_exec_source() before" in run(str(tmp_path / "other.py"))[1]
