"""The divergence engine: control, calls, scopes, names of other compilers."""

import pytest

from analysis.analysed import Analysed
from weft.analysis.divergence import Form, Scope, Summaries, analyze_divergence
from weft.analysis.divergence.summaries import MAX_SIGNATURES
from weft.analysis.shapes import Basic, Product, StrideAlignment
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.widen.lanes import LaneSpace
from weft.ir.reader import read_module
from weft.machine.targets import AVX2

TRIP = """
define i32 @f(i32 %v, i32 inreg %u) {{
a:
  br label %h
h:
  %k = phi i32 [ 0, %a ], [ %k1, %l ]
  %out = icmp sge i32 %k, %v
  br i1 %out, label %x, label %l
l:
  %k1 = add i32 %k, 1
  %stop = icmp sge i32 %k1, %u
  br i1 %stop, label %x, label %h
x:
  {rest}
}}
"""


def test_trap_a_phi_of_constants_behind_a_divergent_and_a_uniform_exit_of_a_cycle_varies() -> None:
    a = Analysed(TRIP.format(rest="%r = phi i32 [ 1, %h ], [ 2, %l ]\n  ret i32 %r"), width=4)
    assert a.divergent() == ["h"]
    assert not a.is_uniform("r")
    assert a.divergence.divergent_exits(a.block("h")) == {(a.block("h"), a.block("x"))}
    # The same constant from both exits is the same for all.
    assert Analysed(TRIP.format(rest="%r = phi i32 [ 1, %h ], [ 1, %l ]\n  ret i32 %r"), width=4).is_uniform(
        "r"
    )


def test_trap_a_loop_between_a_divergent_branch_and_the_join_does_not_hide_it() -> None:
    a = Analysed("""
        define i32 @f(i1 %v, i32 inreg %u) {
        a:
          br i1 %v, label %h, label %j
        h:
          %k = phi i32 [ 0, %a ], [ %k1, %h ]
          %k1 = add i32 %k, 1
          %go = icmp slt i32 %k1, %u
          br i1 %go, label %h, label %after
        after:
          br label %j
        j:
          %x = phi i32 [ 0, %a ], [ 1, %after ]
          ret i32 %x
        }
        """, width=4)  # fmt: skip
    assert not a.is_uniform("x")
    assert a.uniform("k k1 go") == ["k", "k1", "go"]
    assert not a.divergence.is_divergent_loop(a.block("h"))


def test_values_of_a_divergent_loop_vary_at_uses_that_are_no_phis() -> None:
    a = Analysed(TRIP.format(rest="%r = add i32 %k, 1\n  ret i32 %r"), width=4)
    assert a.is_uniform("k") and not a.is_uniform("r")
    assert not a.divergence.result.is_uniform
    assert not a.divergence.shape_in(a.value("k"), a.block("x")).is_uniform
    assert a.divergence.shape_in(a.value("k"), a.block("l")).is_uniform


def test_alignment_survives_leaving_a_loop_in_different_iterations() -> None:
    a = Analysed("""
        define i32 @f(i32 %v) {
        a:
          br label %h
        h:
          %k = phi i32 [ 0, %a ], [ %k1, %h ]
          %k1 = add i32 %k, 8
          %go = icmp slt i32 %k1, %v
          br i1 %go, label %h, label %x
        x:
          %r = phi i32 [ %k1, %h ]
          ret i32 %r
        }
        """, width=4)  # fmt: skip
    assert a.shape("r") == "Ta8"


def test_values_of_an_outer_loop_stay_uniform_behind_a_divergent_inner_one() -> None:
    a = Analysed("""
        define i32 @f(i32 %v, i32 inreg %u) {
        a:
          br label %o
        o:
          %i = phi i32 [ 0, %a ], [ %i1, %latch ]
          %i2 = mul i32 %i, 3
          br label %h
        h:
          %k = phi i32 [ 0, %o ], [ %k1, %h ]
          %k1 = add i32 %k, 1
          %go = icmp slt i32 %k1, %v
          br i1 %go, label %h, label %latch
        latch:
          %kl = phi i32 [ %k1, %h ]
          %il = phi i32 [ %i2, %h ]
          %i1 = add i32 %i, 1
          %again = icmp slt i32 %i1, %u
          br i1 %again, label %o, label %x
        x:
          ret i32 %il
        }
        """, width=4)  # fmt: skip
    assert a.uniform("i i2 k il kl i1 again") == ["i", "i2", "k", "il", "i1", "again"]
    assert not a.divergence.is_divergent_loop(a.block("o"))


def test_a_divergent_branch_to_one_target_is_none() -> None:
    a = Analysed("define void @f(i1 %v) {\na:\n  br i1 %v, label %b, label %b\nb:\n  ret void\n}", width=4)
    assert a.divergent() == []


def test_a_switch_is_divergent_on_a_strided_value_and_its_cases_run_for_some() -> None:
    a = Analysed("""
        define i32 @f() {
        a:
          %t = call i64 @weft.local.id(i32 0)
          switch i64 %t, label %d [ i64 0, label %b
                                    i64 1, label %c ]
        b:
          br label %j
        c:
          br label %j
        d:
          br label %j
        j:
          %x = phi i32 [ 7, %b ], [ 7, %c ], [ 7, %d ]
          %y = phi i32 [ 7, %b ], [ poison, %c ], [ 7, %d ]
          %z = phi i32 [ 7, %b ], [ 8, %c ], [ 7, %d ]
          ret i32 %z
        }
        """, width=4)  # fmt: skip
    assert a.divergent() == ["a"]
    assert a.uniform("x y z") == ["x", "y"]
    assert [b.name for b in a.function.blocks if a.divergence.may_be_empty(b)] == ["b", "c", "d"]


def test_an_irreducible_cycle_that_threads_enter_apart_is_varying_throughout() -> None:
    text = """
        define i32 @f(i1 COND, i32 inreg %u) {
        a:
          br i1 %v, label %p, label %q
        p:
          %x = phi i32 [ 0, %a ], [ %y, %q ]
          %x1 = add i32 %x, 1
          %c = icmp slt i32 %x1, %u
          br i1 %c, label %q, label %out
        q:
          %y = phi i32 [ 5, %a ], [ %x1, %p ]
          br label %p
        out:
          %r = phi i32 [ %x1, %p ]
          ret i32 %r
        }
        """
    varying = Analysed(text.replace("COND", "%v"), width=4)
    assert varying.uniform("x y x1 r") == []
    # Nothing is wrong with it if threads enter and leave together.
    assert Analysed(text.replace("COND", "inreg %v"), width=4).uniform("x y r") == ["x", "y", "r"]


def test_block_predicates_and_the_values_under_them() -> None:
    a = Analysed("""
        define i32 @f(i1 %v, i32 inreg %u) {
        a:
          br label %b
        b: predicate(%v)
          %x = add i32 %u, 1
          %c = icmp eq i32 %x, 3
          %t = total select i1 %v, i1 %c, i1 false
          br i1 %c, label %d, label %e
        d:
          br label %e
        e:
          %y = phi i32 [ 0, %b ], [ 1, %d ]
          ret i32 %y
        }
        """, width=4)  # fmt: skip
    # All threads that run b agree there, so those that pass it by follow them.
    assert a.uniform("x c t y") == ["x", "c", "y"]
    assert a.divergent() == []
    assert [b.name for b in a.function.blocks if a.divergence.has_varying_predicate(b)] == ["b"]
    assert not any(a.divergence.has_varying_control(b) for b in a.function.blocks)


def test_shuffles_are_uniform_only_from_a_lane_that_is_surely_active() -> None:
    a = Analysed("""
        define void @f(i32 %x, i1 %v, i32 inreg %u) {
        a:
          %first = call i32 @weft.shfl.idx.i32(i32 %x, i32 0)
          %other = call i32 @weft.shfl.idx.i32(i32 %x, i32 3)
          %same = call i32 @weft.shfl.idx.i32(i32 %u, i32 %x)
          br i1 %v, label %b, label %c
        b:
          %part = call i32 @weft.shfl.idx.i32(i32 %x, i32 0)
          %bits = call i64 @weft.ballot(i1 %v)
          br label %c
        c:
          ret void
        }
        """, width=4)  # fmt: skip
    assert a.uniform("first other same part bits") == ["first", "same", "bits"]


@pytest.mark.parametrize("domain", [Basic, StrideAlignment, Product])
def test_memory_is_uniform_at_uniform_addresses_but_for_atomics_and_volatile(domain: type) -> None:
    a = Analysed("""
        define void @f(ptr inreg %p, ptr %q) {
        a:
          %x = load i32, ptr %p
          %y = load volatile i32, ptr %p
          %z = load atomic i32, ptr %p monotonic, align 4
          %w = load i32, ptr %q
          %o = atomicrmw add ptr %p, i32 1 monotonic
          ret void
        }
        """, domain=domain((4,)))  # fmt: skip
    assert a.uniform("x y z w o") == ["x"]


def test_forms_of_accesses() -> None:
    a = Analysed("""
        define void @f(ptr %p, ptr %g) "weft.kernel" {
        a:
          %s = alloca [8 x i32]
          %t = call i64 @weft.local.id(i32 0)
          %one = getelementptr float, ptr %p, i64 1
          %next = getelementptr float, ptr %p, i64 %t
          %wide = getelementptr [3 x float], ptr %p, i64 %t
          %x1 = load float, ptr %one
          %x2 = load float, ptr %next
          %x3 = load float, ptr %wide
          %i = load i64, ptr %next
          %far = getelementptr float, ptr %p, i64 %i
          %x4 = load float, ptr %far
          %s1 = getelementptr i32, ptr %s, i64 2
          %u = load i32, ptr %s1
          store i64 %t, ptr %s
          %x5 = load i32, ptr %s1
          store float %x4, ptr %next
          ret void
        }
        """, width=8)  # fmt: skip
    d = a.divergence
    forms = {name: d.access_form(a.instruction(name)) for name in ("x1", "x2", "x3", "x4", "x5")}
    assert [f.form for f in forms.values()] == [
        Form.UNIFORM, Form.CONTIGUOUS, Form.STRIDED, Form.GATHER, Form.PRIVATE,
    ]  # fmt: skip
    assert forms["x3"].stride == 12
    assert d.access_form(a.block("a").instructions[-2]).form is Form.CONTIGUOUS
    # An object that threads differ in is another place for each of them.
    assert not a.is_uniform("s1") and a.divergence.place_shape(a.value("s1")).is_uniform


def test_scopes_tell_lane_groups_work_groups_and_the_grid_apart() -> None:
    text = """
        define void @k(ptr %p) "weft.kernel" {
        a:
          %x = call i64 @weft.local.id(i32 0)
          %y = call i64 @weft.local.id(i32 1)
          %g = call i64 @weft.group.id(i32 0)
          %n = call i64 @weft.local.size(i32 0)
          %cy = icmp eq i64 %y, 0
          %some = call i1 @weft.any(i1 %cy)
          %cx = icmp eq i64 %x, 0
          %anyx = call i1 @weft.any(i1 %cx)
          ret void
        }
        """
    names = "x y g n cy some cx anyx"
    assert Analysed(text, width=8).uniform(names) == ["y", "g", "n", "cy", "some", "anyx"]
    assert Analysed(text, width=8, dimension=1).uniform(names) == ["x", "g", "n", "some", "cx", "anyx"]
    assert Analysed(text, width=32, dimension=None).uniform(names) == ["g", "n", "some", "anyx"]
    assert Analysed(text, scope=Scope.GROUP).uniform(names) == ["g", "n"]
    assert Analysed(text, scope="grid").uniform(names) == ["n"]
    # The lane space of a group has three dimensions.
    group = Analysed(text, scope="group")
    assert group.divergence.shape(group.value("y")).strides == (0, 1, 0)
    assert group.divergence.shape(group.value("cx")).strides == (None, 0, 0)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("i32 @llvm.nvvm.read.ptx.sreg.tid.x()", "S1a8"),
        ("i32 @llvm.nvvm.read.ptx.sreg.tid.y()", "U"),
        ("i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()", "U"),
        ("i32 @llvm.nvvm.read.ptx.sreg.ntid.x()", "U"),
        ("i32 @llvm.nvvm.read.ptx.sreg.laneid()", None),
        ("i32 @llvm.amdgcn.workitem.id.x()", "S1a8"),
        ("i32 @llvm.amdgcn.workgroup.id.x()", "U"),
        ("i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)", "T"),
        ("ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()", "U"),
        ("ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()", "U"),
        ("ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()", "U"),
        ("i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()", "U"),
        ("i32 @llvm.nvvm.read.ptx.sreg.warpid()", "T"),
        ("i64 @_Z13get_global_idj(i32 0)", "S1"),
        ("i64 @_Z12get_local_idj(i32 1)", "U"),
        ("i64 @_Z12get_group_idj(i32 0)", "U"),
        ("i64 @_Z33__spirv_BuiltInGlobalInvocationIdi(i32 0)", "S1"),
        ("i64 @unknown(i32 0)", "T"),
    ],
)
def test_names_of_other_compilers(call: str, expected: str | None) -> None:
    declared = call.replace("i32 -1", "i32").replace("i32 0", "i32").replace("i32 1", "i32")
    a = Analysed(
        f"declare {declared}\ndefine void @f() {{\na:\n  %x = call {call}\n  ret void\n}}\n", width=8
    )
    if expected is None:
        assert a.shape("x").startswith("S1")
    else:
        assert a.shape("x") == expected


def test_arguments_of_kernels_are_uniform_and_of_other_functions_varying() -> None:
    text = "define CC void @f(i32 %x, i32 inreg %y, ptr align 16 %p) ATTR {\na:\n  ret void\n}\n"
    other = Analysed(text.replace("CC", "").replace("ATTR", ""), width=4)
    assert other.uniform("x y p") == ["y"]
    assert other.shape("p") == "Ta16"
    for kernel in (text.replace("CC", "ptx_kernel"), text.replace("ATTR", '"weft.kernel"')):
        a = Analysed(kernel.replace("CC", "").replace("ATTR", ""), width=4)
        assert a.uniform("x y p") == ["x", "y", "p"]


def test_initial_shapes_overrule_and_stay() -> None:
    domain = Product((8,))
    a = Analysed(
        "define i32 @f(i32 %x) {\na:\n  %y = mul i32 %x, 3\n  %z = add i32 %y, %x\n  ret i32 %z\n}\n",
        domain=domain,
        initial={"x": domain.strided(1, 32, 8), "z": domain.varying(32)},
    )
    assert (a.shape("y"), a.shape("z")) == ("S3a8", "T")


CALLS = """
define internal i32 @twice(i32 %a) {
e:
  %b = mul i32 %a, 2
  ret i32 %b
}
define internal i32 @choose(i1 %c) {
e:
  br i1 %c, label %t, label %f
t:
  ret i32 1
f:
  ret i32 2
}
define internal i32 @power(i32 %x, i32 %n) {
e:
  %z = icmp eq i32 %n, 0
  br i1 %z, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %r = call i32 @power(i32 %x, i32 %m)
  %p = mul i32 %r, %x
  ret i32 %p
}
define internal i32 @even(i32 %n) {
e:
  %z = icmp eq i32 %n, 0
  br i1 %z, label %yes, label %no
yes:
  ret i32 1
no:
  %m = sub i32 %n, 1
  %r = call i32 @odd(i32 %m)
  ret i32 %r
}
define internal i32 @odd(i32 %n) {
e:
  %z = icmp eq i32 %n, 0
  br i1 %z, label %yes, label %no
yes:
  ret i32 0
no:
  %m = sub i32 %n, 1
  %r = call i32 @even(i32 %m)
  ret i32 %r
}
define internal i32 @read(ptr %p) {
e:
  %v = load i32, ptr %p
  ret i32 %v
}
define internal i1 @active() {
e:
  %m = call i1 @weft.mask()
  ret i1 %m
}
define void @k(i32 %u, ptr %g) "weft.kernel" {
a:
  %t64 = call i64 @weft.local.id(i32 0)
  %t = trunc i64 %t64 to i32
  %c = icmp eq i32 %t, 0
  %d = icmp eq i32 %u, 0
  %own = alloca i32
  store i32 %u, ptr %own
  %two.u = call i32 @twice(i32 %u)
  %two.t = call i32 @twice(i32 %t)
  %ch.u = call i32 @choose(i1 %d)
  %ch.t = call i32 @choose(i1 %c)
  %pow.u = call i32 @power(i32 %u, i32 %u)
  %pow.t = call i32 @power(i32 %u, i32 %t)
  %even.u = call i32 @even(i32 %u)
  %even.t = call i32 @even(i32 %t)
  %read.u = call i32 @read(ptr %g)
  %read.own = call i32 @read(ptr %own)
  %act = call i1 @active()
  br i1 %c, label %b, label %e
b:
  %act.part = call i1 @active()
  br label %e
e:
  ret void
}
"""


def test_summaries_are_polymorphic_in_shapes_and_know_recursion() -> None:
    a = Analysed(CALLS, function="k", width=8, summaries=Summaries())
    names = "two.u two.t ch.u ch.t pow.u pow.t even.u even.t read.u read.own act act.part"
    assert a.uniform(names) == ["two.u", "ch.u", "pow.u", "even.u", "read.u", "act"]
    assert a.shape("two.t") == "S2a16"
    assert not a.is_uniform_object("own")


def test_what_analyses_share_is_of_one_dimension() -> None:
    """Lanes along x agree in y, and those along y do not; analyses of a module share what functions return."""
    module = read_module("""
        declare i64 @weft.local.id(i32)
        define internal i64 @row() noinline {
          %y = call i64 @weft.local.id(i32 1)
          ret i64 %y
        }
        define void @k(ptr %p) "weft.kernel" {
          %r = call i64 @row()
          store i64 %r, ptr %p
          ret void
        }""")
    kernel = module.functions["k"]
    call = next(i for i in kernel.instructions() if i.op == "call")
    for dimension, uniform in ((0, True), (1, False), (0, True), (None, False)):
        found = analyze_divergence(kernel, width=8, dimension=dimension)
        assert found.is_uniform(call) == uniform, dimension


def test_summaries_of_functions_that_changed_are_forgotten() -> None:
    """What a function returns is made varying, two calls deep, between two analyses that share summaries."""
    a = Analysed("""
        define i32 @k(i32 inreg %u) "weft.kernel" {
          %x = call i32 @outer(i32 %u)
          ret i32 %x
        }
        define i32 @outer(i32 %u) {
          %x = call i32 @inner(i32 %u)
          ret i32 %x
        }
        define i32 @inner(i32 %u) {
          %t = call i64 @weft.local.id(i32 0)
          %id = trunc i64 %t to i32
          ret i32 %u
        }
        """, width=4, summaries=(summaries := Summaries()))  # fmt: skip
    assert a.is_uniform("x")
    inner = a.module.functions["inner"]
    inner.entry.terminator.set_operand(0, next(i for i in inner.instructions() if i.name == "id"))
    again = analyze_divergence(a.function, width=4, summaries=summaries)
    assert not again.is_uniform(a.value("x"))


def test_what_one_analysis_asks_of_a_function_does_not_count_for_the_next() -> None:
    a = Analysed("""
        define i32 @k(i32 %u) "weft.kernel" {
          %x = call i32 @id(i32 %u)
          ret i32 %x
        }
        define i32 @id(i32 %x) {
          ret i32 %x
        }
        """, width=4)  # fmt: skip
    summaries, domain, u = Summaries(), Product((4,)), a.value("u")
    for step in range(1, 2 * MAX_SIGNATURES):
        given = {u: domain.strided(step, 32)}
        found = analyze_divergence(a.function, domain=domain, initial=given, width=4, summaries=summaries)
        assert found.shape(a.value("x")) == given[u], "more signatures than one analysis tells apart"


def test_functions_are_analysed_once_however_often_their_caller_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed, compute = [], Summaries._compute
    monkeypatch.setattr(Summaries, "_compute", lambda *parts: computed.append(parts[2]) or compute(*parts))
    a = Analysed("""
        define i32 @k(i32 %u) {
          %x = call i32 @id(i32 %u)
          ret i32 %x
        }
        define i32 @id(i32 %x) {
          ret i32 %x
        }
        """, width=4)  # fmt: skip
    unit = LaneUnit(a.module, a.function, LaneSpace((4,)), {}, AVX2)
    for _ in range(3):
        assert not unit.divergence.is_uniform(a.value("x"))
        unit.forget()
    assert len(computed) == 1


def test_a_call_with_nothing_but_poison_for_an_argument_has_a_result() -> None:
    a = Analysed("""
        define void @f(i1 %c, i32 inreg %u) {
        entry:
          br label %loop
        loop:
          %p = phi i32 [ poison, %entry ], [ %p, %loop ]
          %x = call i32 @first(i32 %u, i32 %p)
          br i1 %c, label %loop, label %exit
        exit:
          ret void
        }
        define i32 @first(i32 %a, i32 %b) {
          ret i32 %a
        }
        """, width=4)  # fmt: skip
    assert a.shape("x") == "U"


def test_indirect_calls_and_assembly_are_varying() -> None:
    a = Analysed("""
        define void @f(ptr inreg %p, i32 inreg %u) {
        a:
          %x = call i32 %p(i32 %u)
          %y = call i32 asm "nop", "=r"()
          ret void
        }
        """, width=4)  # fmt: skip
    assert a.uniform("x y") == []


def test_pure_functions_are_functions_of_their_operands() -> None:
    a = Analysed("""
        declare float @llvm.sqrt.f32(float) nounwind speculatable willreturn memory(none)
        declare float @erff(float) nounwind willreturn memory(none)
        declare float @impure(float)
        define void @f(float %v, float inreg %u) {
        a:
          %x = call float @llvm.sqrt.f32(float %u)
          %y = call float @erff(float %u)
          %z = call float @erff(float %v)
          %w = call float @impure(float %u)
          ret void
        }
        """, width=4)  # fmt: skip
    assert a.uniform("x y z w") == ["x", "y"]


def test_threads_that_differ_in_another_dimension_stay_together_at_a_branch() -> None:
    a = Analysed("""
        define void @k(ptr %p) "weft.kernel" {
        a:
          %x = call i64 @weft.local.id(i32 0)
          %y = call i64 @weft.local.id(i32 1)
          %c = icmp slt i64 %x, 4
          br i1 %c, label %b, label %j
        b:
          br label %j
        j:
          %r = phi i64 [ 0, %a ], [ 1, %b ]
          %s = phi i64 [ %y, %a ], [ %y, %b ]
          %t = add i64 %r, %y
          ret void
        }
        """, scope="group")  # fmt: skip
    strides = {name: a.divergence.shape(a.value(name)).strides for name in "rst"}
    assert strides == {"r": (None, 0, 0), "s": (0, 1, 0), "t": (None, 1, 0)}


SPIRV = """
@__spirv_BuiltInLocalInvocationId = external addrspace(1) constant <3 x i64>
@__spirv_BuiltInWorkgroupId = external addrspace(1) constant <3 x i64>
define void @f() {
a:
  %v = load <3 x i64>, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId
  %x = load i64, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId
  %y = load i64, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId, i64 8)
  %w = load <3 x i64>, ptr addrspace(1) @__spirv_BuiltInWorkgroupId
  %e = extractelement <3 x i64> %w, i64 0
  ret void
}
"""


def test_built_in_variables_of_spirv_are_ids() -> None:
    a = Analysed(SPIRV, width=8)
    assert a.uniform("v x y w e") == ["y", "w", "e"]
    assert a.shape("x") == "S1a8"


def test_between_groups_only_memory_that_does_not_change_is_uniform() -> None:
    a = Analysed("""
        @c = constant i32 7
        declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
        define amdgpu_kernel void @f(ptr %p) {
        a:
          %x = load i32, ptr %p
          %y = load i32, ptr %p, !invariant.load !0
          %z = load i32, ptr @c
          %i = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
          %w = load i32, ptr addrspace(4) %i
          ret void
        }
        !0 = !{}
        """, scope="grid")  # fmt: skip
    assert a.uniform("x y z i w") == ["y", "z", "i", "w"]


PREDICATED_BRANCH = """
    define i32 @f(i1 %v, i1 %p, i1 inreg %u) {
    a:
      br i1 %v, label %b, label %c
    b: predicate(%p)
      br i1 %u, label %d, label %e
    c:
      br label %d
    d:
      br label %e
    e:
      %x = phi i32 [ 0, %b ], [ 1, %d ]
      ret i32 %x
    }
    """


def test_passive_threads_go_with_the_active_ones_of_their_lane_group() -> None:
    assert Analysed(PREDICATED_BRANCH, width=4).divergent() == ["a"]


def test_passive_threads_may_have_no_active_ones_in_their_lane_group() -> None:
    assert Analysed(PREDICATED_BRANCH, scope="group").divergent() == ["a", "b"]
    uniform = PREDICATED_BRANCH.replace("i1 %p", "i1 inreg %p")
    assert Analysed(uniform, scope="group").divergent() == ["a"]


def test_passive_threads_do_not_wait_for_the_active_ones_at_a_barrier() -> None:
    barrier = PREDICATED_BRANCH.replace("(%p)\n", "(%p)\n call void @weft.barrier()\n")
    declared = barrier + "declare void @weft.barrier() convergent nounwind\n"
    assert Analysed(declared, width=4).divergent() == ["a", "b"]


UNKNOWN = """
declare i32 @thread_number(i32) nounwind willreturn memory(none) {attribute}
declare float @sinf(float) nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.something.new() memory(none)
declare ptr @llvm.frameaddress.p0(i32) memory(none)
declare i64 @llvm.readcyclecounter()
declare float @llvm.sqrt.f32(float) memory(none)
declare i32 @llvm.read_register.i32(metadata) memory(read)

define void @f(i32 %n, float %x, ptr %p, ptr %function) "weft.kernel" {{
  %unknown = call i32 @thread_number(i32 %n)
  %mathematics = call float @sinf(float %x)
  %swizzle = call i32 @llvm.amdgcn.ds.swizzle(i32 %n, i32 1)
  %register = call i32 @llvm.nvvm.read.ptx.sreg.something.new()
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %cycles = call i64 @llvm.readcyclecounter()
  %root = call float @llvm.sqrt.f32(float %x)
  %assembly = call i32 asm "mov %gs:0, $0", "=r"() memory(none)
  %pointer = call i32 %function(i32 %n) memory(none)
  %volatile = load volatile i32, ptr %p
  %atomic = load atomic i32, ptr %p monotonic, align 4
  %vouched = call i32 @thread_number(i32 %n) "weft.uniform"
  ret void
}}
"""


@pytest.mark.parametrize("attribute", ["", '"weft.uniform"'])
def test_only_functions_known_to_follow_from_their_arguments_are_uniform(attribute: str) -> None:
    function = read_module(UNKNOWN.format(attribute=attribute)).functions["f"]
    found = analyze_divergence(function, width=8)
    uniform = {i.name for i in function.instructions() if i.name and found.shape(i).is_uniform}
    assert uniform == {"mathematics", "root", "vouched"} | ({"unknown"} if attribute else set())


@pytest.mark.parametrize(
    ("triple", "uniform"), [("amdgcn-amd-amdhsa", True), ("i386-unknown-linux-gnu", False)]
)
def test_arguments_in_registers_are_uniform_where_lanes_share_registers(triple: str, uniform: bool) -> None:
    text = f'target triple = "{triple}"\ndefine void @f(i32 inreg %x) {{\n  ret void\n}}\n'
    function = read_module(text).functions["f"]
    assert analyze_divergence(function, width=8).shape(function.args[0]).is_uniform is uniform
