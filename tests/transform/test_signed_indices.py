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
    text = KERNEL.format(body=body, flags="inbounds")
    compared = text.replace(
        "  %v = load i32, ptr %p\n", "  %b = ptrtoint ptr %p to i64\n  %v = trunc i64 %b to i32\n"
    )
    for each in (text.replace('"weft.small.arrays"', ""), compared.replace("inbounds ", "")):
        assert sign_indices(read_module(each).functions["f"]) == 0


ACCESSED = """
define i32 @f(ptr %in, i32 %u, i32 %w, i32 range(i32 0, 2147483647) %x, i32 range(i32 0, 1024) %t, i64 %far)
    "weft.small.arrays" {{
entry:
  %c = icmp slt i32 %u, %w
{sum}
  %i = {extend} i32 %sum to i64
{rest}
}}
"""

AT_ONCE = """  %bytes = shl nsw i64 %i, 2
  %p = getelementptr i8, ptr %in, i64 %bytes
  %v = load i32, ptr %p
  ret i32 %v"""

FAR = AT_ONCE.replace("%bytes\n", "%sum.far\n").replace("2\n", "2\n  %sum.far = add i64 %bytes, %far\n", 1)

LOOP = """  %bytes = shl nsw i64 %i, 2
  br label %loop
loop:
  %at = phi i64 [ %bytes, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %in, i64 %at
  %v = load i32, ptr %p
  %next = add i64 %at, %far
  %again = icmp slt i64 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  ret i32 %v"""

GUARDED_LOOP = """  %bytes = shl nsw i64 %i, 2
  br label %loop
loop:
  %at = phi i64 [ %bytes, %entry ], [ %next, %latch ]
  br i1 %c, label %then, label %latch
then:
  %p = getelementptr i8, ptr %in, i64 %at
  store i32 1, ptr %p
  br label %latch
latch:
  %next = add i64 %at, %far
  %again = icmp slt i64 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  ret i32 1"""

SOMETIMES = """  %bytes = shl nsw i64 %i, 2
  %p = getelementptr i8, ptr %in, i64 %bytes
  br i1 %c, label %then, label %exit
then:
  %v = load i32, ptr %p
  ret i32 %v
exit:
  ret i32 1"""

STORED = """  %p = getelementptr i32, ptr %in, i64 %i
  store i64 %i, ptr %in
  %v = load i32, ptr %p
  ret i32 %v"""

STORED_LATER = """  %p = getelementptr i32, ptr %in, i64 %i
  %v = load i32, ptr %p
  store i64 %i, ptr %in
  ret i32 %v"""


@pytest.mark.parametrize("extend", ["sext", "zext"])
@pytest.mark.parametrize("rest", [AT_ONCE, LOOP, SOMETIMES, STORED_LATER])
def test_what_is_accessed_has_not_wrapped_around(extend: str, rest: str) -> None:
    module = read_module(ACCESSED.format(sum="  %sum = add i32 %u, %t", extend=extend, rest=rest))
    assert sign_indices(module.functions["f"]) == 1
    verify(module)
    text = write_module(module)
    assert "add nsw i32 %u, %t" in text and "sext" in text and "zext" not in text


def test_bytes_lie_behind_the_begin_of_their_array() -> None:
    """Sums that are one too large for 32 bits are far in front of it."""
    rest = "  %p = getelementptr i8, ptr %in, i64 %i\n  %v = load i8, ptr %p\n  %n = zext i8 %v to i32\n  ret i32 %n"
    text = ACCESSED.format(sum="  %sum = add i32 %u, %x", extend="sext", rest=rest)
    assert sign_indices(read_module(text).functions["f"]) == 0
    begins = read_module(text.replace('"weft.small.arrays"', '"weft.small.arrays" "weft.array.begins"'))
    assert sign_indices(begins.functions["f"]) == 1
    assert "add nsw i32 %u, %x" in write_module(begins)


@pytest.mark.parametrize("rest", [FAR, GUARDED_LOOP, STORED])
def test_sums_that_may_wrap_around_on_the_way_stay(rest: str) -> None:
    """In between it may be anywhere: what is added later, or in later iterations, leads back into the object."""
    module = read_module(ACCESSED.format(sum="  %sum = add i32 %u, %t", extend="sext", rest=rest))
    assert sign_indices(module.functions["f"]) == 0


@pytest.mark.parametrize(
    ("body", "signed"),
    [
        # Before the pointer there may be 2^29 elements, and 2^31 - 1 more of %x may lead there.
        ("  %sum = add i32 %u, %x", ()),
        # u + x may wrap around, and so may that and w; what is added last does not.
        ("  %a = add i32 %u, %t\n  %sum = add i32 %a, %x", ("add i32 %u, %x", "add nsw i32 %0, %t")),
        ("  %a = add i32 %t, %w\n  %sum = sub i32 %a, %u", ("sub i32 %w, %u", "add nsw i32 %0, %t")),
        ("  %a = sub i32 %u, %t\n  %sum = add i32 %a, %w", ("add i32 %u, %w", "sub nsw i32 %0, %t")),
        ("  %a = add i32 %u, %t\n  %sum = sub i32 %a, 7", ("add nsw i32 %u, %t", "sub nsw i32 %0, 7")),
    ],
)
def test_parts_that_may_be_large_are_added_first(body: str, signed: tuple[str, ...]) -> None:
    module = read_module(ACCESSED.format(sum=body, extend="sext", rest=AT_ONCE))
    assert sign_indices(module.functions["f"]) == bool(signed)
    verify(module)
    text = write_module(module)
    assert all(line in text for line in signed)
    assert text.count("nsw i32") == sum("nsw" in line for line in signed)


SEARCH = """
define i32 @f(ptr %text, i32 %i, i32 %m, i32 %w) "weft.small.arrays" {
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %latch ]
  %sum = add i32 %k, %i
  %x = sext i32 %sum to i64
  %p = getelementptr i8, ptr %text, i64 %x
  %v = load i8, ptr %p
  %stays = icmp eq i8 %v, 7
  br i1 %stays, label %latch, label %done
latch:
  %next = add i32 %k, 1
  %more = icmp ne i32 %next, %m
  br i1 %more, label %loop, label %done
done:
  %found = phi i32 [ %k, %loop ], [ %m, %latch ]
  ret i32 %found
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%sum = add i32 %k, %i", "%sum = add i32 %i, %k"),
        ("%sum = add i32 %k, %i", "%far = shl i32 %k, 4\n  %sum = add i32 %far, %i"),
        ("%sum = add i32 %k, %i", "%near = add i32 %k, %w\n  %sum = add i32 %near, %i"),
        ("%sum = add i32 %k, %i", "%near = sub i32 %k, %w\n  %sum = add i32 %near, %i"),
        # The number of the round of a loop that was unrolled has 64 bits.
        ("%sum = add i32 %k, %i", "%low = trunc i64 %round to i32\n  %sum = add i32 %low, %i"),
    ],
)
def test_the_first_access_of_a_loop_tells_that_later_sums_do_not_wrap_around(old: str, new: str) -> None:
    text = SEARCH.replace(old, new)
    if "%round" in text:
        text = text.replace("loop:\n", "loop:\n  %round = phi i64 [ 0, %entry ], [ %later, %latch ]\n")
        text = text.replace("latch:\n", "latch:\n  %later = add i64 %round, 1\n")
    module = read_module(text)
    assert sign_indices(module.functions["f"]) == 1
    verify(module)
    assert "add nsw i64" in write_module(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (' "weft.small.arrays"', ""),
        ("[ 0, %entry ]", "[ 1, %entry ]"),
        ("[ 0, %entry ]", "[ %w, %entry ]"),
        ("%sum = add i32 %k, %i", "%sum = sub i32 %i, %k"),
        ("%sum = add i32 %k, %i", "%sum = add i32 %k, %k"),
        ("%x = sext i32", "%x = zext i32"),
        ("%v = load i8, ptr %p", "%at = ptrtoint ptr %p to i64\n  %v = trunc i64 %at to i8"),
        # The first iteration may pass the access by.
        (
            "%sum = add",
            "%by = icmp slt i32 %k, %w\n  br i1 %by, label %latch, label %reads\nreads:\n  %sum = add",
        ),
    ],
)
def test_sums_of_which_the_first_iteration_tells_nothing_stay(old: str, new: str) -> None:
    text = SEARCH.replace(old, new)
    if "reads:" in text:
        text = text.replace("[ %k, %loop ]", "[ %k, %reads ]")
    module = read_module(text)
    verify(module)
    assert sign_indices(module.functions["f"]) == 0


SHARED = """
declare ptr addrspace(3) @weft.shared.dynamic()
define i32 @f(i64 range(i64 0, 2147483648) %offset, i32 %u, i32 range(i32 0, 1024) %t) {{
entry:
  %all = call ptr addrspace(3) @weft.shared.dynamic()
  %in = getelementptr {flags} i8, ptr addrspace(3) %all, i64 %offset
  %sum = add i32 %u, %t
  %i = sext i32 %sum to i64
  %p = getelementptr i32, ptr addrspace(3) %in, i64 %i
  %v = load i32, ptr addrspace(3) %p
  ret i32 %v
}}
"""


def test_shared_memory_is_small_and_so_is_what_begins_in_it() -> None:
    module = read_module(SHARED.format(flags="inbounds nuw"))
    assert sign_indices(module.functions["f"]) == 1
    verify(module)
    assert "add nsw i32 %u, %t" in write_module(module)
    # Where it begins is not said.
    assert sign_indices(read_module(SHARED.format(flags="nuw")).functions["f"]) == 0
    unknown = SHARED.replace("ptr addrspace(3)", "ptr").replace("%offset,", "%offset, ptr %all,")
    unknown = unknown.replace("  %all = call ptr @weft.shared.dynamic()\n", "")
    unknown = unknown.replace("declare ptr @weft.shared.dynamic()\n", "")
    assert sign_indices(read_module(unknown.format(flags="inbounds nuw")).functions["f"]) == 0
