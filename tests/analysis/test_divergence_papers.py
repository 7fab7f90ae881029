"""The examples of the papers, with the results they give, corrected where they are wrong.

Moll's figures of chapters 7 and 10 are in test_control_divergence and test_shape_examples. Drawings are lost from the
text of Karrenberg and Hack; the graphs of their figures are drawn again after the captions.
"""

from analysis.analysed import Analysed


def test_moll_fig_3_6_a_phi_with_a_varying_operand_is_varying_under_uniform_control() -> None:
    a = Analysed("""
        define void @f(ptr %A, ptr %B, ptr %C, ptr %D, i64 %m) "weft.kernel" {
        entry:
          %i = call i64 @weft.local.id(i32 0)
          %pa = getelementptr float, ptr %A, i64 %i
          %v = load float, ptr %pa
          br label %c
        c:
          %k = phi i64 [ 0, %entry ], [ %k1, %f ]
          %pb = getelementptr i1, ptr %B, i64 %k
          %p = load i1, ptr %pb
          br i1 %p, label %d, label %e
        d:
          br label %f
        e:
          %pc = getelementptr float, ptr %C, i64 %k
          %w = load float, ptr %pc
          br label %f
        f:
          %x = phi float [ %v, %d ], [ %w, %e ]
          %pd = getelementptr float, ptr %D, i64 %k
          store float %x, ptr %pd
          %k1 = add i64 %k, 1
          %more = icmp slt i64 %k1, %m
          br i1 %more, label %c, label %out
        out:
          ret void
        }
        """, width=4)  # fmt: skip
    assert a.uniform("k p w x v") == ["k", "p", "w"]
    assert a.divergent() == []


def test_moll_fig_3_14_constants_that_meet_behind_a_divergent_branch_vary() -> None:
    a = Analysed("""
        define i32 @f(i1 inreg %p, i1 %q) {
        a:
          br i1 %p, label %b, label %e
        b:
          br i1 %q, label %c, label %d
        c:
          br label %d
        d:
          %x = phi i32 [ 0, %b ], [ 1, %c ]
          br label %e
        e:
          %y = phi i32 [ 2, %a ], [ %x, %d ]
          ret i32 %y
        }
        """, width=4)  # fmt: skip
    assert a.divergent() == ["b"]
    assert not a.is_uniform("x")
    assert [b.name for b in a.divergence.join_blocks] == ["d"]
    assert [b.name for b in a.function.blocks if a.divergence.has_varying_predicate(b)] == ["c"]


def test_moll_fig_3_19_a_branch_on_any_is_uniform() -> None:
    a = Analysed("""
        define float @xsqrtf(float %d0) {
        a:
          %scaleUp = fcmp olt float %d0, 0x3B50000000000000
          %scaleDown = fcmp ogt float %d0, 0x43F0000000000000
          %both = or i1 %scaleUp, %scaleDown
          %some = call i1 @weft.any(i1 %both)
          br i1 %some, label %b, label %f
        b:
          br i1 %scaleUp, label %c, label %d
        c:
          %d1 = fmul float %d0, 0x44E0000000000000
          br label %d
        d:
          %q1 = phi float [ 1.0, %b ], [ 0.125, %c ]
          %d2 = phi float [ %d0, %b ], [ %d1, %c ]
          br i1 %scaleDown, label %e, label %j
        e:
          br label %j
        j:
          %q2 = phi float [ %q1, %d ], [ 8.0, %e ]
          br label %f
        f:
          %q = phi float [ 1.0, %a ], [ %q2, %j ]
          ret float %q
        }
        """, width=4)  # fmt: skip
    assert a.is_uniform("some")
    assert a.divergent() == ["b", "d"]
    assert a.uniform("q1 q2 q") == []
    # All threads are in b, d and f together; only c and e run for some of them.
    assert [b.name for b in a.function.blocks if a.divergence.has_varying_predicate(b)] == ["c", "e"]


def test_moll_fig_6_2_a_uniform_sum_under_a_divergent_branch_is_uniform_where_it_is_defined() -> None:
    a = Analysed("""
        define i32 @f(i32 inreg %x, i32 inreg %y, i1 %p) {
        a:
          br i1 %p, label %b, label %c
        b:
          %z = add i32 %x, %y
          br label %c
        c:
          %w = phi i32 [ poison, %a ], [ %z, %b ]
          %v = phi i32 [ 0, %a ], [ %z, %b ]
          ret i32 %v
        }
        """, width=3)  # fmt: skip
    assert a.is_uniform("z")
    # The threads that come from a bring poison: the value of the others may be theirs as well.
    assert a.is_uniform("w")
    assert not a.is_uniform("v")


def test_moll_fig_6_4_sync_temporal_and_activation_dependence() -> None:
    sync = Analysed("""
        define i32 @f(i1 %v) {
        a:
          br i1 %v, label %b, label %c
        b:
          br label %d
        c:
          br label %d
        d:
          %x = phi i32 [ 0, %b ], [ 1, %c ]
          ret i32 %x
        }
        """, width=4)  # fmt: skip
    assert not sync.is_uniform("x")
    temporal = Analysed("""
        define i32 @f(i32 %v) {
        a:
          br label %l
        l:
          %k = phi i32 [ 0, %a ], [ %k1, %l ]
          %k1 = add i32 %k, 1
          %c = icmp slt i32 %k1, %v
          br i1 %c, label %l, label %z
        z:
          %x = phi i32 [ %k1, %l ]
          ret i32 %x
        }
        """, width=4)  # fmt: skip
    assert temporal.uniform("k k1 x") == ["k", "k1"]
    assert temporal.divergence.is_divergent_loop(temporal.block("l"))
    assert temporal.divergence.divergent_exits(temporal.block("l")) == {
        (temporal.block("l"), temporal.block("z"))
    }
    activation = Analysed("""
        define i1 @f(i1 %v, i1 inreg %p) {
        e:
          br i1 %v, label %b, label %c
        b:
          %m = call i1 @weft.mask()
          br label %c
        c:
          %n = call i1 @weft.mask()
          br label %d
        d: predicate(%v)
          %o = call i1 @weft.mask()
          br label %g
        g: predicate(%p)
          %q = call i1 @weft.mask()
          ret i1 %q
        }
        """, width=4)  # fmt: skip
    assert activation.uniform("m n o q") == ["n", "q"]


def test_moll_fig_6_9_a_shadow_makes_a_phi_vary_where_only_some_threads_arrive() -> None:
    text = """
        define i32 @f(i1 %v, i1 inreg %u) {
        a:
          br i1 %v, label %b, label %e
        b:
          br i1 %u, label %c, label %d
        c:
          br label %d
        d:
          %y = phi i32 [ 0, %b ], [ 1, %c ] SHADOW
          br label %e
        e:
          ret i32 0
        }
        """
    assert not Analysed(text.replace("SHADOW", "shadow(2)"), width=4).is_uniform("y")
    assert Analysed(text.replace("SHADOW", ""), width=4).is_uniform("y")
    # More precise than [DA-SPHI-D]: where the shadow is what everyone else brings, it makes no difference.
    same = text.replace("[ 0, %b ], [ 1, %c ]", "[ 2, %b ], [ 2, %c ]").replace("SHADOW", "shadow(2)")
    assert Analysed(same, width=4).is_uniform("y")


STORES = """
define i64 @f(i64 inreg %i) {
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %A = alloca i64
  %B = alloca [64 x i64]
  %C = alloca [64 x i64]
  store i64 %tid, ptr %A
  %za = load i64, ptr %A
  %bp = getelementptr [64 x i64], ptr %B, i64 0, i64 %tid
  store i64 42, ptr %bp
  %bpp = getelementptr [64 x i64], ptr %B, i64 0, i64 3
  %zb = load i64, ptr %bpp
  %cp = getelementptr [64 x i64], ptr %C, i64 0, i64 %i
  store i64 42, ptr %cp
  %j = mul i64 2, %i
  %cpp = getelementptr [64 x i64], ptr %C, i64 0, i64 %j
  %zc = load i64, ptr %cpp
  ret i64 %zc
}
"""


def test_moll_fig_6_11_what_is_stored_and_where_decides_on_a_stack_object() -> None:
    a = Analysed(STORES, width=4)
    assert [name for name in ["A", "B", "C"] if a.is_uniform_object(name)] == ["C"]
    assert a.uniform("za zb zc cp cpp bpp A C") == ["zc", "cp", "cpp", "C"]


def test_moll_fig_6_12_alloca_ssa_tells_objects_apart() -> None:
    """As printed, q may lead to either object because Z joins them behind a divergent branch; so Z is varying, and
    the store through it makes Y varying as well, though its join node does not. The paper calls Y uniform."""
    text = """
        define float @f(i1 %v1, float %v2, i1 inreg %u1, float inreg %u2) {
        a:
          %X = alloca [1024 x float]
          %Y = alloca [1024 x float]
          br i1 %v1, label %b, label %c
        b:
          store float %v2, ptr %X
          br label %c
        c:
          %Z = phi ptr [ FIRST, %a ], [ SECOND, %b ]
          %q = getelementptr float, ptr %Z, i64 4
          br i1 %u1, label %d, label %e
        d:
          store float %u2, ptr %q
          br label %e
        e:
          %yp = getelementptr float, ptr %Y, i64 5
          %s = load float, ptr %yp
          %xp = getelementptr float, ptr %X, i64 5
          %t = load float, ptr %xp
          ret float %s
        }
        """
    printed = Analysed(text.replace("FIRST", "%X").replace("SECOND", "%Y"), width=8)
    assert not printed.is_uniform("Z")
    assert not printed.is_uniform_object("X") and not printed.is_uniform_object("Y")
    # What the figure means to show: the join in c concerns X alone.
    meant = Analysed(text.replace("FIRST", "%Y").replace("SECOND", "%Y"), width=8)
    assert meant.is_uniform_object("Y") and meant.is_uniform("s")
    assert not meant.is_uniform_object("X") and not meant.is_uniform("t")


SEARCH = """
define i32 @search(ptr inreg %nodes, ptr inreg %Q, i64 %i) {
entry:
  %stack = alloca [512 x i32]
  store i32 0, ptr %stack
  %qp = getelementptr float, ptr %Q, i64 %i
  %elem = load float, ptr %qp
  br label %head
head:
  %top = phi i64 [ 1, %entry ], [ %top3, %latch ]
  %more = icmp sgt i64 %top, 0
  br i1 %more, label %body, label %out
body:
  %top0 = sub i64 %top, 1
  %sp = getelementptr [512 x i32], ptr %stack, i64 0, i64 %top0
  %next = load i32, ptr %sp
  %np = getelementptr { float, i32, i32 }, ptr %nodes, i32 %next
  %label = load float, ptr %np
  %rp = getelementptr { float, i32, i32 }, ptr %nodes, i32 %next, i32 1
  %right = load i32, ptr %rp
  %lp = getelementptr { float, i32, i32 }, ptr %nodes, i32 %next, i32 2
  %left = load i32, ptr %lp
  %hit = fcmp oeq float %label, %elem
  br i1 %hit, label %found, label %descend
descend:
  %m = call i1 @weft.mask()
  %lt = fcmp olt float %elem, %label
  %alt = select i1 %m, i1 %lt, i1 false
  %someleft = call i1 @weft.any(i1 %alt)
  %hasleft = icmp sgt i32 %left, 0
  %goleft = and i1 %someleft, %hasleft
  br i1 %goleft, label %pushleft, label %right0
pushleft:
  %spl = getelementptr [512 x i32], ptr %stack, i64 0, i64 %top0
  store i32 %left, ptr %spl
  %top1 = add i64 %top0, 1
  br label %right0
right0:
  %top2 = phi i64 [ %top0, %descend ], [ %top1, %pushleft ]
  %gt = fcmp olt float %label, %elem
  %someright = call i1 @weft.any(i1 %gt)
  %hasright = icmp sgt i32 %right, 0
  %goright = and i1 %someright, %hasright
  br i1 %goright, label %pushright, label %latch
pushright:
  %spr = getelementptr [512 x i32], ptr %stack, i64 0, i64 %top2
  store i32 %right, ptr %spr
  %top2b = add i64 %top2, 1
  br label %latch
latch:
  %top3 = phi i64 [ %top2, %right0 ], [ %top2b, %pushright ]
  br label %head
found:
  %nl = phi i32 [ %next, %body ]
  br label %out
out:
  %result = phi i32 [ -1, %head ], [ %nl, %found ]
  ret i32 %result
}
"""


def test_moll_fig_13_2_the_traversal_stack_is_uniform() -> None:
    """By Fig. 6.13 alone it is not: threads leave the loop in different iterations and meet behind it, where their
    stacks differ. It counts that none of them looks at its stack again."""
    a = Analysed(SEARCH, width=8)
    assert a.divergent() == ["body"]
    assert a.is_uniform_object("stack")
    assert a.uniform("top next label left goleft goright top2 top3 nl result") == (
        ["top", "next", "label", "left", "goleft", "goright", "top2", "top3"]
    )
    assert not a.divergence.divergent_exits(a.block("head")) & {(a.block("head"), a.block("out"))}
    reads_later = SEARCH.replace(
        "  ret i32 %result",
        "  %again = load i32, ptr %stack\n  %sum = add i32 %result, %again\n  ret i32 %sum",
    )
    assert not Analysed(reads_later, width=8).is_uniform_object("stack")


SAMPAIO = """
define void @KERNEL(ptr %m, ptr %v, i32 %c) "weft.kernel" {
entry:
  %tid64 = call i64 @weft.local.id(i32 0)
  %tid = trunc i64 %tid64 to i32
  %guard = icmp slt i32 %tid, %c
  br i1 %guard, label %start, label %out
start:
  BOUND
  br label %head
head:
  %i = phi i32 [ %tid, %start ], [ %i1, %step ]
  %d = phi i32 [ 0, %start ], [ %d1, %step ]
  %sum = phi float [ 0.0, %start ], [ %sum1, %step ]
  %more = icmp slt i32 %i, %N
  br i1 %more, label %body, label %done
body:
  %odd = and i32 %d, 1
  %take = icmp ne i32 %odd, 0
  br i1 %take, label %add, label %step
add:
  %p = getelementptr float, ptr %m, i32 %i
  %x = load float, ptr %p
  %sum0 = fadd float %sum, %x
  br label %step
step:
  %sum1 = phi float [ %sum, %body ], [ %sum0, %add ]
  %d1 = add i32 %d, 1
  %i1 = add nsw i32 %i, %c
  br label %head
done:
  %dl = phi i32 [ %d, %head ]
  %suml = phi float [ %sum, %head ]
  store float %suml, ptr %v
  br label %out
out:
  ret void
}
"""


def test_sampaio_fig_1_avg_square_has_a_uniform_loop() -> None:
    """N - i is uniform: both are the thread id plus something uniform. Only without wrap-around, though, does that
    make the comparison uniform, which the paper takes for granted."""
    bound = "%cc = mul nsw i32 %c, %c\n  %N = add nsw i32 %tid, %cc"
    a = Analysed(SAMPAIO.replace("KERNEL", "avgSquare").replace("BOUND", bound), width=8)
    assert (a.shape("i"), a.shape("N")) == ("S1", "S1")
    assert a.divergent() == ["entry"]
    assert a.uniform("d more dl") == ["d", "more", "dl"]
    wraps = Analysed(SAMPAIO.replace("KERNEL", "f").replace("BOUND", bound.replace("nsw ", "")), width=8)
    assert wraps.divergent() == ["entry", "head"]


def test_sampaio_fig_1_sum_triangle_has_a_divergent_loop_with_a_uniform_counter() -> None:
    bound = "%t1 = add nsw i32 %tid, 1\n  %N = mul nsw i32 %t1, %c"
    a = Analysed(SAMPAIO.replace("KERNEL", "sumTriangle").replace("BOUND", bound), width=8)
    assert a.divergent() == ["entry", "head"]
    # Fig. 2: inside the loop d and so the branch on d % 2 are uniform; behind it d is not.
    assert a.uniform("d take dl") == ["d", "take"]
    assert str(a.divergence.shape(a.value("N"))).startswith("S?")


def test_karrenberg_hack_fig_5_three_ways_in_which_a_block_diverges() -> None:
    """1: a successor of a varying branch runs for some threads. 2: disjoint paths meet in b. 3: b is an exit of a
    loop that some threads leave while others stay. For φs only 2 and 3 count, for masks 1 does."""
    a = Analysed("""
        define void @f(i1 %varying, i1 inreg %u) {
        v:
          br i1 %varying, label %s, label %t
        s:
          br label %b
        t:
          br i1 %u, label %b, label %only
        only:
          br label %end
        b:
          %two = phi i32 [ 0, %s ], [ 1, %t ]
          br label %end
        end:
          ret void
        }
        """, width=4)  # fmt: skip
    masked = [b.name for b in a.function.blocks if a.divergence.has_varying_predicate(b)]
    assert masked == ["s", "t", "only", "b"]
    assert not a.is_uniform("two")


def test_karrenberg_hack_fig_6_uniform_branches_under_divergent_ones_keep_their_phis_uniform() -> None:
    a = Analysed("""
        define void @f(i1 %varying, i1 inreg %u) {
        a:
          br i1 %varying, label %b, label %c
        b:
          br i1 %u, label %d, label %e
        d:
          br label %f
        e:
          br label %f
        f:
          %inner = phi i32 [ 0, %d ], [ 1, %e ]
          br label %g
        c:
          br label %g
        g:
          %outer = phi i32 [ 0, %f ], [ 1, %c ]
          ret void
        }
        """, width=4)  # fmt: skip
    assert a.uniform("inner outer") == ["inner"]


def test_karrenberg_hack_fig_7_blocks_shared_by_two_sides() -> None:
    """Left: j is reached from both sides of a, over uniform branches: its φs vary. Right: i is reached from one
    side of each varying branch only: threads never come apart into it."""
    left = Analysed("""
        define void @f(i1 %varying, i1 inreg %u) {
        a:
          br i1 %varying, label %b, label %c
        b:
          br i1 %u, label %d, label %j
        c:
          br i1 %u, label %j, label %e
        d:
          br label %end
        e:
          br label %end
        j:
          %x = phi i32 [ 0, %b ], [ 1, %c ]
          br label %end
        end:
          ret void
        }
        """, width=4)  # fmt: skip
    assert not left.is_uniform("x")
    right = Analysed("""
        define void @f(i1 %v, i1 %w, i1 inreg %u) {
        a:
          br i1 %u, label %b, label %c
        b:
          br i1 %v, label %d, label %i
        c:
          br i1 %w, label %i, label %e
        d:
          br label %end
        e:
          br label %end
        i:
          %x = phi i32 [ 0, %b ], [ 1, %c ]
          br label %end
        end:
          ret void
        }
        """, width=4)  # fmt: skip
    assert right.is_uniform("x")
    assert right.divergent() == ["b", "c"]
