"""Ids, sizes and shared memory become parameters of every function that needs them."""

import pytest

from weft.ir import Argument
from weft.ir.reader import read_module
from weft.ir.types import I64
from weft.ir.verifier import verify
from weft.transform.groups.work_items import WORK_ITEM_PARAMETERS, WorkItems, lower_work_items, shared_layout

TEXT = """
define void @k(ptr %p) "weft.shared"="12:4,40:16" {
  %tid = call i64 @weft.local.id(i32 1)
  %first = call ptr addrspace(3) @weft.shared(i32 0)
  %second = call ptr addrspace(3) @weft.shared(i32 1)
  %dynamic = call ptr addrspace(3) @weft.shared.dynamic()
  store i64 %tid, ptr %p
  store ptr addrspace(3) %first, ptr %p
  store ptr addrspace(3) %second, ptr %p
  store ptr addrspace(3) %dynamic, ptr %p
  %size = call i64 @weft.shared.dynamic.size()
  store i64 %size, ptr %p
  %a = call i64 @outer(i64 3)
  %b = call i64 @plain(i64 4)
  ret void
}
define internal i64 @outer(i64 %x) {
  %r = call i64 @inner(i64 %x)
  ret i64 %r
}
define internal i64 @inner(i64 %x) {
  %size = call i64 @weft.local.size(i32 2)
  %again = call i64 @inner(i64 %size)
  %r = add i64 %size, %again
  ret i64 %r
}
define internal i64 @plain(i64 %x) {
  ret i64 %x
}
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.shared.dynamic.size() nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared.dynamic() nounwind speculatable willreturn memory(none)
"""
ADDED = [p.name for p in WORK_ITEM_PARAMETERS]


@pytest.fixture
def lowered():
    module = read_module(TEXT)
    lower_work_items(module, module.functions["k"])
    verify(module)
    return module


def test_functions_that_ask_and_their_callers_get_the_parameters(lowered):
    for name, own in (("k", ["p"]), ("outer", ["x"]), ("inner", ["x"])):
        function = lowered.functions[name]
        assert [a.name for a in function.args] == [*own, *ADDED]
        assert function.fn_type.params == tuple(a.type for a in function.args)
    assert [a.name for a in lowered.functions["plain"].args] == ["x"]


def test_callers_pass_their_own_parameters_on(lowered):
    for caller, callee in (("k", "outer"), ("outer", "inner"), ("inner", "inner")):
        function = lowered.functions[caller]
        (call,) = [i for i in function.instructions() if i.op == "call" and i.callee_name == callee]
        assert list(call.args[1:]) == function.args[1:]
    (call,) = [i for i in lowered.functions["k"].instructions() if i.callee_name == "plain"]
    assert len(call.args) == 1


def test_the_record_finds_them_before_others_that_came_later(lowered):
    function = lowered.functions["inner"]
    later = Argument(I64, "later", len(function.args))
    function.args.append(later)
    items = WorkItems.of(function)
    names = [a.name for a in (*items.tid, *items.gid, *items.lsize, *items.groups)]
    assert [*names, items.shared.name, items.shared_dynamic.name, items.shared_dynamic_size.name] == ADDED
    assert all(items.tid[d] in function.args for d in range(3))
    assert WorkItems.find(lowered.functions["plain"]) is None


def test_no_intrinsic_is_left_and_dimensions_choose_the_parameter(lowered):
    names = {i.callee_name for f in lowered.definitions() for i in f.instructions() if i.op == "call"}
    assert names == {"outer", "inner", "plain"}
    store = next(i for i in lowered.functions["k"].instructions() if i.op == "store")
    assert store.operands[0].name == "tid.y"
    (total,) = [i for i in lowered.functions["inner"].instructions() if i.op == "add"]
    assert total.operands[0].name == "lsize.z"


def test_shared_objects_lie_behind_each_other_aligned(lowered):
    kernel = lowered.functions["k"]
    assert shared_layout(kernel) == ((0, 16), 128)
    offsets = [i.operands[1].value for i in kernel.instructions() if i.op == "getelementptr"]
    assert offsets == [0, 16]


def test_a_kernel_that_asks_for_nothing_gets_them_too():
    module = read_module("define void @k() {\n ret void\n}")
    lower_work_items(module, module.functions["k"])
    assert [a.name for a in module.functions["k"].args] == ADDED
    assert shared_layout(module.functions["k"]) == ((), 0)
