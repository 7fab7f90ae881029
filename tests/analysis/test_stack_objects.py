"""Stack objects: what makes them varying, and what does not."""

import pytest

from analysis.analysed import Analysed


def objects(body: str, arguments: str = "i1 %v, i1 inreg %c, i32 %x, i32 inreg %u, ptr inreg %g") -> Analysed:
    declared = """
        declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
        declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
        declare void @llvm.lifetime.start.p0(ptr)
        declare void @take(ptr)
    """
    return Analysed(f"{declared}\ndefine i32 @f({arguments}) {{\nentry:\n{body}\n}}\n", width=4)


@pytest.mark.parametrize(
    ("statement", "uniform"),
    [
        ("store i32 %u, ptr %A", True),
        ("store i32 %x, ptr %A", False),
        ("store volatile i32 %u, ptr %A", False),
        ("store atomic i32 %u, ptr %A monotonic, align 4", False),
        ("%old = atomicrmw add ptr %A, i32 1 monotonic", False),
        ("store ptr %A, ptr %g", False),
        ("%n = ptrtoint ptr %A to i64", False),
        ("call void @take(ptr %A)", False),
        ("call void @llvm.lifetime.start.p0(ptr %A)", True),
        ("call void @llvm.memset.p0.i64(ptr %A, i8 0, i64 4, i1 false)", True),
        ("call void @llvm.memcpy.p0.p0.i64(ptr %A, ptr %g, i64 4, i1 false)", True),
        ("store i32 %x, ptr %B\n call void @llvm.memcpy.p0.p0.i64(ptr %A, ptr %B, i64 4, i1 false)", False),
        ("%q = select i1 %v, ptr %A, ptr %B\n store i32 %u, ptr %q", False),
        ("%q = select i1 %c, ptr %A, ptr %B\n store i32 %u, ptr %q", True),
        ("guard(%v) store i32 %u, ptr %A", False),
        ("guard(%c) store i32 %u, ptr %A", True),
    ],
)
def test_what_is_done_with_an_object_decides(statement: str, uniform: bool) -> None:
    a = objects(f"""
        %A = alloca i32
        %B = alloca i32
        {statement}
        %r = load i32, ptr %A
        ret i32 %r""")  # fmt: skip
    assert a.is_uniform_object("A") is uniform
    assert a.is_uniform("r") is uniform


ARMS = """
  %A = alloca i32
  store i32 0, ptr %A
  br i1 %v, label %then, label %else
then:
  {then}
  br label %join
else:
  {other}
  br label %join
join:
  {join}
"""


def test_a_store_in_one_arm_shows_at_the_join() -> None:
    read = "%r = load i32, ptr %A\n ret i32 %r"
    a = objects(ARMS.format(then="store i32 1, ptr %A", other="", join=read))
    assert not a.is_uniform_object("A")


def test_an_object_that_is_dead_at_the_join_and_used_in_one_arm_is_uniform() -> None:
    used = "store i32 1, ptr %A\n %r = load i32, ptr %A"
    a = objects(ARMS.format(then=used, other="", join="ret i32 0"))
    assert a.is_uniform_object("A") and a.is_uniform("r")


def test_an_object_used_in_both_arms_could_not_be_shared() -> None:
    used = "store i32 1, ptr %A"
    a = objects(ARMS.format(then=used, other="%r = load i32, ptr %A", join="ret i32 0"))
    assert not a.is_uniform_object("A")


def test_arms_that_return_meet_nowhere_and_count_all_the_same() -> None:
    text = """
        %A = alloca i32
        store i32 0, ptr %A
        br i1 %v, label %then, label %else
        then:
        store i32 1, ptr %A
        ret i32 0
        else:
        %r = load i32, ptr %A
        ret i32 %r"""
    assert not objects(text).is_uniform_object("A")
    assert objects(text.replace("store i32 1, ptr %A", "")).is_uniform_object("A")


LOOP = """
  %A = alloca i32
  store i32 0, ptr %A
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]
  %k1 = add i32 %k, 1
  store i32 %k1, ptr %A
  %in = load i32, ptr %A
  %go = icmp slt i32 %k1, {bound}
  br i1 %go, label %loop, label %out
out:
  {rest}
"""


def test_an_object_changed_in_a_divergent_loop_varies_when_it_is_read_behind_it() -> None:
    read = "%r = load i32, ptr %A\n ret i32 %r"
    assert not objects(LOOP.format(bound="%x", rest=read)).is_uniform_object("A")
    assert objects(LOOP.format(bound="%u", rest=read)).is_uniform("r")
    unread = objects(LOOP.format(bound="%x", rest="ret i32 0"))
    assert unread.is_uniform_object("A") and unread.is_uniform("in")


PREDICATED = """
  %A = alloca i32
  store i32 0, ptr %A
  %n = select i1 %v, i1 %c, i1 false
  br label %body
body: predicate(%v)
  store i32 1, ptr %A
  br label %inner
inner: predicate({mask})
  %r = load i32, ptr %A
  br label %end
end:
  ret i32 0
"""


@pytest.mark.parametrize(("mask", "uniform"), [("%v", True), ("%n", True), ("%c", False)])
def test_a_predicated_store_is_one_by_all_who_read(mask: str, uniform: bool) -> None:
    a = objects(PREDICATED.format(mask=mask))
    assert a.is_uniform_object("A") is uniform
    assert a.is_uniform("r") is uniform


LIVE_LOOP = """
  %A = alloca i32
  store i32 0, ptr %A
  br label %head
head:
  %live = phi i1 [ true, %entry ], [ {next}, %latch ] shadow(false)
  %k = phi i32 [ 0, %entry ], [ %k1, %latch ]
  %some = call i1 @weft.any(i1 %live)
  br i1 %some, label %body, label %out
body: predicate(%live)
  %r = load i32, ptr %A
  store i32 %k, ptr %A
  %k1 = add i32 %k, 1
  %stays = icmp slt i32 %k1, %x
  br label %latch
latch:
  %less = select i1 %live, i1 %stays, i1 false
  br label %head
out:
  ret i32 0
"""


def test_a_mask_that_only_loses_threads_keeps_the_object_of_a_loop_uniform() -> None:
    a = objects(LIVE_LOOP.format(next="%less"))
    assert a.is_uniform_object("A") and a.is_uniform("r")
    # A thread that comes back has missed a store.
    back = objects(LIVE_LOOP.format(next="%stays"))
    assert not back.is_uniform_object("A")


LEAVING_LOOP = """
  %A = alloca i32
  br label %outer
outer:
  store i32 0, ptr %A
  br label %head
head:
  %live = phi i1 [ true, %outer ], [ {next}, %latch ] shadow(false)
  %k = phi i32 [ 0, %outer ], [ %k1, %latch ]
  %some = call i1 @weft.any(i1 %live)
  br i1 %some, label %body, label %behind
body: predicate(%live)
  %r = load i32, ptr %A
  %stays = icmp slt i32 %k, %x
  %less = select i1 %live, i1 %stays, i1 false
  br label %rest
rest: predicate(%less)
  store i32 %k, ptr %A
  %k1 = add i32 %k, 1
  br label %latch
latch: predicate({late})
  %l = load i32, ptr {read}
  %fewer = select i1 %less, i1 %c, i1 false
  br label %head
behind:
  {end}
out:
  ret i32 0
"""


@pytest.mark.parametrize(
    ("changes", "uniform"),
    [
        ({}, True),
        ({"next": "%fewer"}, True),
        ({"read": "%A"}, True),
        # Threads that the store was not for read in the next iteration, or behind it.
        ({"next": "%live"}, False),
        ({"read": "%A", "late": "%live"}, False),
        # They come back in the next round of the loop around.
        ({"end": "br i1 %c, label %outer, label %out"}, False),
    ],
)
def test_threads_that_leave_before_a_store_do_not_read_it_later(
    changes: dict[str, str], uniform: bool
) -> None:
    parts = {"next": "%less", "read": "%B", "late": "%less", "end": "br label %out"} | changes
    text = LEAVING_LOOP.format(**parts).replace("%A = alloca i32\n", "%A = alloca i32\n  %B = alloca i32\n")
    a = objects(text)
    assert a.is_uniform_object("A") is uniform


def test_addresses_of_objects_are_numbers_only_where_they_are_looked_at() -> None:
    a = objects("""
        %A = alloca [4 x i32]
        %p = getelementptr i32, ptr %A, i32 %u
        %q = getelementptr i32, ptr %A, i32 %x
        %null = icmp eq ptr %p, null
        %same = icmp eq ptr %p, %A
        %order = icmp ult ptr %p, %g
        %other = icmp eq ptr %p, %g
        %far = icmp eq ptr %q, %A
        ret i32 0""")  # fmt: skip
    assert a.uniform("p q null same order other far") == ["p", "null", "same"]


def test_a_parameter_by_value_is_an_object_of_its_own() -> None:
    a = objects("""
        %r = load i32, ptr %b
        %q = load i32, ptr %p
        ret i32 %r""", "ptr byval(i32) inreg %b, ptr inreg %p")  # fmt: skip
    assert a.is_uniform("q")


def test_an_address_that_comes_out_of_an_aggregate_is_a_number() -> None:
    a = objects("""
        %A = alloca i32
        store i32 %x, ptr %A
        %pair = insertvalue { ptr, i32 } poison, ptr %A, 0
        %back = extractvalue { ptr, i32 } %pair, 0
        %r = load i32, ptr %back
        ret i32 %r""")  # fmt: skip
    assert a.uniform("pair back r") == []
