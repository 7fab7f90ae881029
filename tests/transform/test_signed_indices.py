"""Indices of type uint become signed sums where ranges prove it, and no others (`signed_indices`)."""

import pytest

from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.signed_indices import sign_indices

KERNEL = """
define i32 @f(ptr %in, i32 %u, i32 %w, i32 range(i32 0, 2147483647) %x) "weft.small.arrays" {{
entry:
{body}
  %i = zext i32 %sum to i64
  %p = getelementptr {flags} i32, ptr %in, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}}
"""


@pytest.mark.parametrize(
    ("body", "signed"),
    [
        ("  %sum = add i32 %u, %x", ("add nsw i32 %u, %x",)),
        # A constant before it leaves the number of the inner sum between -1 and some 2^29.
        ("  %a = add i32 %u, %x\n  %sum = add i32 %a, 1", ("add nsw i32 %u, %x", "add nsw i32 %0, 1")),
        ("  %a = add i32 %x, %u\n  %sum = sub i32 %a, 1", ("add nsw i32 %x, %u", "sub nsw i32 %0, 1")),
        # 2^31 and 2^31 + 5 are 5.
        ("  %sum = add i32 %u, %w", None),
        ("  %sum = sub i32 %u, %x", None),
        # The outer sum may be a place though the inner one has wrapped around.
        ("  %a = add i32 %u, %x\n  %sum = add i32 %a, 1000", ("add nsw i32 %a, 1000",)),
        ("  %sum = mul i32 %u, %x", None),
    ],
)
def test_what_becomes_signed(body: str, signed: tuple[str, ...] | None) -> None:
    module = read_module(KERNEL.format(body=body, flags="inbounds nuw"))
    assert sign_indices(module.functions["f"]) == (signed is not None)
    verify(module)
    text = write_module(module)
    assert all(line in text for line in signed or ())
    assert text.count("nsw") == len(signed or ())
    assert ("sext" in text) == (signed is not None) and ("zext" in text) == (signed is None)


def test_addresses_that_may_be_anywhere_stay() -> None:
    body = "  %sum = add i32 %u, %x"
    for text in (
        KERNEL.format(body=body, flags=""),
        KERNEL.format(body=body, flags="inbounds").replace('"weft.small.arrays"', ""),
    ):
        assert sign_indices(read_module(text).functions["f"]) == 0
