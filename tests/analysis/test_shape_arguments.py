"""Shapes of arguments as a user writes them."""

from __future__ import annotations

import pytest

from weft.analysis.shapes import Product, parse_args
from weft.errors import ArgumentError


def test_letters_are_joined_by_underscores_or_not_at_all() -> None:
    signature = parse_args("U_TrT")
    assert [str(a) for a in signature.arguments] == ["U", "T"]
    assert str(signature.result) == "T"
    assert parse_args("U_T_rT") == signature
    assert parse_args(str(signature)) == signature


def test_strides_alignments_and_missing_letters() -> None:
    signature = parse_args("C_S-4a16_Ta8")
    domain = Product((8,))
    assert signature.argument(0).shape(domain, 64, element_bytes=4) == domain.strided(4, exact=False)
    second = signature.argument(1).shape(domain, 64)
    assert second.stride == -4 and second.alignment == 16
    assert signature.argument(2).shape(domain, 32).lane_alignment == 8
    assert signature.argument(7).shape(domain, 64).is_uniform
    assert signature.result is None


def test_only_an_n_promises_that_numbers_do_not_wrap() -> None:
    signature = parse_args("C_Cn_S4na8")
    domain = Product((8,))
    assert signature.argument(0).shape(domain, 8) == domain.strided(1, 8, exact=False)
    assert signature.argument(1).shape(domain, 8) == domain.strided(1, 8)
    assert signature.argument(2).shape(domain, 8) == domain.strided(4, 8, 8)
    assert str(signature) == "C_Cn_S4na8"


def test_no_text_means_all_uniform() -> None:
    assert parse_args("").argument(0).shape(Product((4,)), 0).is_uniform


def test_values_that_are_no_integers_are_uniform_or_varying() -> None:
    domain = Product((4,))
    assert parse_args("Ca16").argument(0).shape(domain, 0) == domain.varying()


@pytest.mark.parametrize("text", ["X", "U_S", "Ua", "rT_U", "U T", "S1.5", "Un", "Tn"])
def test_what_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ArgumentError, match="cannot read"):
        parse_args(text)
