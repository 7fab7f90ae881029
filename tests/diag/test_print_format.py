"""Formats of C: sizes of 64 bits as CUDA C++ and PTX have them, and what OpenCL C has of its own."""

import struct

from weft.diag.print_format import format_line


def written(format, letters, *values):
    texts = {1: format, 2: "text"}
    codes = "".join({"i": "q", "u": "Q", "f": "d", "s": "Q"}[letter] for letter in letters)
    return format_line(f"%s{letters}", struct.pack(f"<Q{codes}", 1, *values), texts.__getitem__)


def test_numbers_of_64_bits():
    line = written(
        "%lld %llu %zu %ld %jd %td %llx %d %s", "iuuiiiiis", -5, 2**64 - 1, 9, -1, 2, -3, 255, 7, 2
    )
    assert line == "-5 18446744073709551615 9 -1 2 -3 ff 7 text"


def test_vectors_of_opencl():
    assert written("%v2hld|%v2hhd", "iiii", -1, 2, 255, 3) == "-1,2|-1,3"
