"""Programs that several threads run at once."""

import threading
import time

import pytest

from weft.interp import decode
from weft.interp.program import Program
from weft.ir.reader import read_module


def test_a_function_is_decoded_once_whatever_threads_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    # What an image keeps by the identity of decoded functions would be another's where one is thrown away.
    original = decode.decode_function

    def slow(*args):
        time.sleep(0.01)
        return original(*args)

    monkeypatch.setattr(decode, "decode_function", slow)
    program = Program(read_module("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"))
    function = program.module.functions["f"]
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(program.code(function))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(map(id, found))) == 1
