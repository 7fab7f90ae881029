"""What instructions, functions and modules tell of themselves."""

from weft.ir import GlobalVariable, Module
from weft.ir.layout import X86_64_LAYOUT, parse_datalayout
from weft.ir.reader.module import read_module
from weft.ir.types import I32

TEXT = """
define void @f(ptr %p, i32 %v) {
entry:
  %object = alloca i16
  %element = getelementptr i64, ptr %p, i32 %v
  %loaded = load i64, ptr %p
  store i32 %v, ptr %element, align 2
  %told = load volatile i32, ptr %p
  %added = atomicrmw add ptr %p, i32 %v monotonic
  %swapped = cmpxchg ptr %p, i32 %v, i32 7 monotonic monotonic, align 16
  %less = icmp slt i32 %v, %told
  ret void
}
"""


def _instructions():
    function = read_module(TEXT).functions["f"]
    return function, list(function.instructions())


def test_accesses_tell_address_type_and_alignment():
    function, (_, element, load, store, told, added, swapped, *_) = _instructions()
    p, v = function.args
    assert [i.pointer for i in (load, store, told, added, swapped)] == [p, element, p, p, p]
    assert [str(i.accessed_type) for i in (load, store, told, added, swapped)] == ["i64", *["i32"] * 4]
    assert [i.alignment for i in (load, store, told, added, swapped)] == [8, 2, 4, 4, 16]
    assert store.stored_value is v


def test_only_loads_and_stores_that_nobody_watches_are_plain():
    _, (alloca, element, load, store, told, added, swapped, *_) = _instructions()
    assert [i.is_ordered for i in (load, store, told, added, swapped)] == [False, False, True, True, True]
    assert [i.is_plain_access for i in (load, store, told, added, swapped)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not alloca.is_plain_access
    assert not element.is_plain_access


def test_types_and_predicates():
    _, (alloca, element, *_, less, _) = _instructions()
    assert str(alloca.allocated_type) == "i16"
    assert str(element.source_type) == "i64"
    assert less.predicate == "slt"


def test_the_layout_follows_the_text():
    function, _ = _instructions()
    module = function.module
    assert module is not None
    assert module.layout is function.layout is parse_datalayout("")
    module.datalayout = X86_64_LAYOUT
    assert module.layout is function.layout is parse_datalayout(X86_64_LAYOUT)
    function.module = None
    assert function.layout is parse_datalayout("")


def test_unused_names_are_those_of_no_global():
    module = Module()
    assert module.unused_name("f") == "f"
    module.add_global(GlobalVariable("f", I32))
    assert module.unused_name("f") == "f.2"
    module.add_global(GlobalVariable("f.2", I32))
    assert module.unused_name("f") == "f.3"
