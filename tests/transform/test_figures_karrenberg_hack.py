"""Retained uniform control flow: the examples of Karrenberg and Hack, §3.2 and §3.3 (Fig. 6, 7, 9, 10 and 11).

Their pictures are drawn again after the text. ``B?`` ends in a varying branch; all others are uniform. Partial
linearization keeps what their algorithm keeps, and also what it leaves to duplication (Fig. 7, right).
"""

import numpy as np

from transform.chain import analysed, check_chain, returned
from transform.figures import WIDTH, figure, parsed, redrawn
from transform.test_partial_linearization import redrawn as redrawn_graph
from weft.transform.linearization.linearize import linearize
from weft.transform.loops.divergent_loops import make_loops_uniform, uniform_branches

FIG_6_MIDDLE = """
define i32 @uniform_loop_in_divergent_loop(i32 %t, i32 %n) {
a:
  br label %b
b:
  %x = phi i32 [ %t, %a ], [ %x.next, %d ]
  br label %c
c:
  %j = phi i32 [ 1, %b ], [ %j.next, %c ]
  %y = phi i32 [ %x, %b ], [ %y.next, %c ]
  %y.next = add i32 %y, %j
  %j.next = add i32 %j, 1
  %inner = icmp slt i32 %j.next, %n
  br i1 %inner, label %c, label %d
d:
  %x.next = phi i32 [ %y.next, %c ]
  %outer = icmp slt i32 %x.next, 30
  br i1 %outer, label %b, label %e
e:
  %r = phi i32 [ %x.next, %d ]
  ret i32 %r
}
"""

FIG_6_RIGHT = """
define i32 @uniform_exit(i32 %t, i32 %n) {
a:
  br label %b
b:
  %i = phi i32 [ 0, %a ], [ %i.next, %f ]
  %x = phi i32 [ %t, %a ], [ %x.next, %f ]
  %odd.bit = and i32 %i, 1
  %odd = icmp ne i32 %odd.bit, 0
  br i1 %odd, label %c, label %d
c:
  %all.done = icmp sge i32 %i, %n
  br i1 %all.done, label %h, label %f
d:
  br label %f
f:
  %step = phi i32 [ 3, %c ], [ 5, %d ]
  %x.next = add i32 %x, %step
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %x.next, 20
  br i1 %more, label %b, label %g
g:
  %left = phi i32 [ %x.next, %f ]
  br label %end
h:
  %stopped = phi i32 [ %x, %c ]
  br label %end
end:
  %r = phi i32 [ %left, %g ], [ %stopped, %h ]
  ret i32 %r
}
"""

FIG_9 = """
define i32 @not_skipped(i32 %t, i1 %t.v, i1 %u) {
a:
  br i1 %t.v, label %b, label %c
b:
  %xb = add i32 %t, 1
  br label %d
c:
  br i1 %u, label %d, label %e
d:
  %xd = phi i32 [ %xb, %b ], [ %t, %c ]
  %yd = mul i32 %xd, 3
  br label %f
e:
  %ye = add i32 %t, 7
  br label %f
f:
  %r = phi i32 [ %yd, %d ], [ %ye, %e ]
  br label %g
g:
  ret i32 %r
}
"""

MANDELBROT = """
define i32 @mandelbrot(double %t.x0, double %t.y0, double %scaleSquare, i32 %maxIter) {
entry:
  br label %head
head:
  %iter = phi i32 [ 0, %entry ], [ %iter.next, %body ]
  %x = phi double [ %t.x0, %entry ], [ %x.next, %body ]
  %y = phi double [ %t.y0, %entry ], [ %y.next, %body ]
  %x2 = fmul double %x, %x
  %y2 = fmul double %y, %y
  %size = fadd double %x2, %y2
  %inside = fcmp ole double %size, %scaleSquare
  br i1 %inside, label %count, label %out
count:
  %few = icmp ult i32 %iter, %maxIter
  br i1 %few, label %body, label %out
body:
  %xy = fmul double %x, %y
  %xy2 = fmul double %xy, 2.0
  %y.next = fadd double %xy2, %t.y0
  %difference = fsub double %x2, %y2
  %x.next = fadd double %difference, %t.x0
  %iter.next = add i32 %iter, 1
  br label %head
out:
  %r = phi i32 [ %iter, %head ], [ %iter, %count ]
  ret i32 %r
}
"""


def test_fig_6_and_10_left_only_what_the_varying_branch_reaches_is_linearized():
    r"""
          a                  a
        /   \              /   \
       b?    c            b     c
      / \    |            |     |
     d   e   f            d     f
      \ / \ /     ==>     |     |
       g   h              e     |
        \ /               |     |
         i                g     |
                           \   /
                             h
                             |
                             i
    """
    text = "a -> b c; b? -> d e; d -> g; e -> g h; c -> f; f -> h; g -> i; h -> i"
    after = dict(edge.split(" -> ") for edge in redrawn_graph(text).split("; "))
    assert after["a"] == "b c" and (after["c"], after["f"]) == ("f", "h")
    assert (after["b"], after["d"]) == ("d", "e")


def test_fig_6_and_10_middle_an_inner_loop_that_all_leave_together_has_no_mask_of_its_own(golden):
    r"""
    a                a
    |                |
    b<-+             b.live <---+
    |  |             |     \    |
    c<+|             b      |   |      [live]
    |-+|     ==>     |      |   |
    d?-+             c<+    |   |      [live], and no select in it
    |                |-+    |   |
    e                d      |   |
                     |      |   |
                     latch--|---+
                            e
    """
    golden(figure(FIG_6_MIDDLE), "karrenberg_hack_fig_6_middle.txt")
    _, _, function = redrawn(FIG_6_MIDDLE)
    inner = next(b for b in function.blocks if b.name == "c")
    assert [i.op for i in inner.instructions if i.op == "select"] == []
    assert {b.name for b in inner.terminator.blocks} >= {"c"}


def test_fig_6_and_10_right_a_uniform_exit_of_a_divergent_loop_stays(golden):
    r"""Blocks c, d and f have the mask of b; h is reached by those who left at f before, too.

        a
        |
        b<---+
       / \   |
      c   d  |       c leaves for all that are still in the loop,
     / \ /   |       f? for some
    h   f? --+
    |   |
    |   g
     \ /
     end
    """
    module, function = parsed(FIG_6_RIGHT)
    facts = analysed(WIDTH)
    assert [b.name for b in function.blocks if facts(function).is_divergent_branch(b)] == ["f"]
    uniform = uniform_branches(function, facts(function))
    make_loops_uniform(module, function, facts(function))
    linearize(function, facts(function), uniform)
    masks = {b.name: b.predicate for b in function.blocks}
    assert masks["b"] is not None and masks["b"] == masks["c"] == masks["d"] == masks["f"]
    golden(figure(FIG_6_RIGHT), "karrenberg_hack_fig_6_right.txt")


def test_fig_7_left_a_block_between_two_sides_runs_whichever_was_taken():
    r"""
         a?                 a
       /   \                |
      b     c               b
     / \   / \     ==>     ...      j is on every way through both sides
    d   \ /   e
     \   j   /
      \  |  /
        end
    """
    after = redrawn_graph("a? -> b c; b -> d j; c -> j e; d -> end; e -> end; j -> end")
    succs = {edge.split(" -> ")[0]: edge.split(" -> ")[1].split() for edge in after.split("; ")}
    assert all("j" in path for path in _paths(succs, "a"))


def test_fig_7_right_blocks_shared_by_two_uniform_sides_need_no_copy():
    r"""
            a
          /   \
         b?    c?         i, j and k run for threads of one side or of the other, never of both;
        / \   / \         each side is linearized, and each path keeps the order of the index
       d   i-+   e
       |    \    |
       j     k   j
    """
    text = "a -> b c; b? -> d i; c? -> i e; d -> j; i -> k; e -> k; j -> end; k -> end"
    after = redrawn_graph(text)
    succs = {edge.split(" -> ")[0]: edge.split(" -> ")[1].split() for edge in after.split("; ")}
    assert succs["a"] == ["b", "c"]
    for path in _paths(succs, "a"):
        side = {"b", "d", "i", "j", "k"} if "b" in path else {"c", "i", "e", "k"}
        assert side <= set(path)


def test_fig_9_what_must_not_be_skipped_is_not(golden):
    r"""
        a?               a
       / \               |
      b   c              b
      |  / \             |
      | /   e    ==>     c
      d    /            / \
       \  /            |   e     c keeps its branch: e runs only where u says so;
        f              |  /      d runs either way, for threads that came by b
        |              d
        g              |
                       f
                       |
                       g
    """
    _, after, _ = redrawn(FIG_9)
    lines = {line.split(" ")[0]: line.partition(" -> ")[2].split() for line in after.splitlines()}
    paths = _paths(lines, "a")
    assert all({"b", "c", "d", "f"} <= set(p) for p in paths)
    assert {("e" in p) for p in paths} == {True, False}
    golden(figure(FIG_9), "karrenberg_hack_fig_9.txt")


def test_fig_9_keeps_its_results():
    for u in (False, True):
        module, function = parsed(FIG_9)
        given = [np.arange(WIDTH, dtype=np.int32), np.array([1, 0, 1, 0], bool), u]
        check_chain(module, function.name, returned(function.name, given, WIDTH), analysed(WIDTH))


def test_fig_6_keeps_its_results():
    for text in (FIG_6_MIDDLE, FIG_6_RIGHT):
        for n in (1, 2, 5):
            module, function = parsed(text)
            given = [np.arange(WIDTH, dtype=np.int32) * 3, n]
            check_chain(module, function.name, returned(function.name, given, WIDTH), analysed(WIDTH))


def test_fig_11_the_counter_of_mandelbrot_stays_scalar_and_only_what_leaves_is_blended(golden):
    """The comparison with maxIter stays an exit on a scalar condition; ``r`` has a vector beside the counter."""
    module, function = parsed(MANDELBROT)
    facts = analysed(WIDTH)
    make_loops_uniform(module, function, facts(function))
    after = facts(function)
    named = {i.name: i for i in function.instructions()}
    assert all(after.is_uniform(named[name]) for name in ("iter", "iter.next", "few"))
    assert not after.is_uniform(named["r"])
    golden(figure(MANDELBROT), "karrenberg_hack_fig_11.txt")


def test_fig_11_keeps_its_results():
    module, function = parsed(MANDELBROT)
    points = [np.array([-2.0, 0.1, 0.5, -0.7]), np.array([0.0, 0.2, 0.5, 0.4])]
    check_chain(module, function.name, returned(function.name, [*points, 4.0, 40], WIDTH), analysed(WIDTH))


def _paths(succs: dict[str, list[str]], block: str) -> list[list[str]]:
    """All paths to the end of an acyclic graph."""
    if not succs.get(block):
        return [[block]]
    return [[block, *rest] for target in succs[block] for rest in _paths(succs, target)]
