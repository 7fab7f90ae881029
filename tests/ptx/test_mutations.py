"""Text with something wrong in it anywhere: it is taken, or refused as `PtxError` with a place."""

import os
import random

import pytest

from ptx.test_directives import TEXT
from ptx.test_reader import SAXPY
from ptx.test_round_trip import drawn
from weft.errors import PtxError
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.reader.lexer import tokenize
from weft.ptx.source import Source
from weft.ptx.writer import write_module

MUTATIONS = 20000 if os.environ.get("WEFT_FUZZ") else 60


def mutated(text: str, rng: random.Random) -> str:
    """The text with one token gone, twice there, or another in its place."""
    tokens, starts = tokenize(Source(text, "k.ptx"))
    at, other = rng.randrange(len(tokens) - 1), rng.choice(tokens)
    begin, end = starts[at], starts[at] + len(tokens[at])
    half = tokens[at][: len(tokens[at]) // 2]
    new = rng.choice(("", f"{tokens[at]} {tokens[at]}", other, f"{tokens[at]} {other}", half))
    return text[:begin] + new + text[end:]


@pytest.mark.parametrize("text", [SAXPY, TEXT, write_module(drawn(5))], ids=["saxpy", "directives", "drawn"])
def test_mutations(text):
    rng = random.Random(7)
    errors: list[PtxError] = []
    for _ in range(MUTATIONS // 3):
        wrong = mutated(text, rng)
        try:
            check_module(read_module(wrong, "k.ptx"))
        except PtxError as error:
            errors.append(error)
    assert len(errors) > MUTATIONS // 12
    assert [str(error) for error in errors if error.span is None or not error.span.line] == []
