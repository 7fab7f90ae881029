"""Lock-step control: schedule, activation, FR and OBL, predicates, shadows (Moll, ch. 4 and 5)."""

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError, UnsupportedError
from weft.interp.threads.active import ActiveSet
from weft.ir.block import BasicBlock
from weft.ir.reader import read_module


class Trace:
    """The runtime schedule: blocks with their activation."""

    def __init__(self) -> None:
        self.blocks: list[tuple[str, list[int]]] = []

    def on_block(self, machine: interp.machine.Machine, block: BasicBlock, active: ActiveSet) -> None:
        lanes = np.broadcast_to(active.mask(machine.lanes), (machine.lanes,))
        self.blocks.append((block.name, lanes.astype(int).tolist()))

    @property
    def names(self) -> str:
        return "".join(name for name, _ in self.blocks)


def run(text: str, arguments: list, width: int, semantics: str = "FR") -> tuple[list, list[bool], Trace]:
    """Results, whether each is well defined, and the schedule of @f."""
    trace = Trace()
    outcome = interp.run_function(
        read_module(text), "f", [np.array(a) for a in arguments], width, semantics=semantics, hooks=[trace]
    )
    data = outcome.data.tolist()
    flags = [False] * width if outcome.flags is None else (np.asarray(outcome.flags) != 0).tolist()
    return data, [not f for f in flags], trace


# Moll, Fig. 4.5:      A
#                     / \
#                    B   C
#                    |  / \
#                    | D   |
#                     \|  /
#                      E
FIGURE_4_5 = """
define i32 @f(i1 %p, i1 %q) {
A:
  br i1 %p, label %B, label %C
B:
  br label %E
C:
  br i1 %q, label %D, label %E
D:
  br label %E
E:
  %x = phi i32 [ 1, %B ], [ 2, %C ], [ 3, %D ]
  ret i32 %x
}"""


def test_threads_meet_again_where_their_paths_join() -> None:
    data, defined, trace = run(FIGURE_4_5, [[True, False], [False, True]], 2)
    assert data == [1, 3] and all(defined)
    assert trace.blocks == [("A", [1, 1]), ("B", [1, 0]), ("C", [0, 1]), ("D", [0, 1]), ("E", [1, 1])]


def test_a_block_that_no_thread_takes_is_not_scheduled() -> None:
    _, _, trace = run(FIGURE_4_5, [[True, True], [False, True]], 2)
    assert trace.names == "ABE"


# Moll, Fig. 4.6: B is entered through a divergent branch, C by both but under the predicate notp.
FIGURE_4_6 = """
define i32 @f(i1 %p) {
A:
  %notp = xor i1 %p, true
  br i1 %p, label %B, label %C
B:
  br label %C
C: predicate(%notp)
  %m = call i1 @weft.mask()
  br label %D
D:
  %r = zext i1 %m to i32
  ret i32 %r
}
declare i1 @weft.mask()"""


def test_activation_is_control_mask_and_predicate() -> None:
    data, defined, trace = run(FIGURE_4_6, [[False, True]], 2)
    assert trace.blocks == [("A", [1, 1]), ("B", [0, 1]), ("C", [1, 0]), ("D", [1, 1])]
    assert data == [1, 0] and all(defined), "the mask is assigned on all threads"


# Moll, Fig. 4.11: A -> B (p), A -> D; B -> C; C -> D. The first thread goes from A right to D.
FIGURE_4_11 = """
define i32 @f(i1 %p) {
A:
  br i1 %p, label %B, label %D
B:
  br label %C
C:
  %x = phi i32 [ 1, %B ] shadow(2)
  br label %D
D:
  ret i32 %x
}"""


@pytest.mark.parametrize("semantics", ["FR", "OBL"])
def test_a_passive_thread_gets_the_shadow_of_a_phi(semantics: str) -> None:
    data, defined, _ = run(FIGURE_4_11, [[False, True]], 2, semantics)
    assert data == [2, 1] and all(defined)


@pytest.mark.parametrize("semantics", ["FR", "OBL"])
def test_without_a_shadow_a_passive_thread_gets_top(semantics: str) -> None:
    text = FIGURE_4_11.replace(" shadow(2)", "")
    _, defined, _ = run(text, [[False, True]], 2, semantics)
    assert defined == [False, True]


# Moll, Fig. 4.10: the shadow makes the control mask of D explicit; E sees it whichever way it came.
FIGURE_4_10 = """
define i32 @f(i1 %p, i1 %q) {
A:
  br i1 %p, label %B, label %C
B:
  br i1 %q, label %D, label %E
C:
  br i1 %q, label %D, label %E
D:
  %d = phi i32 [ 10, %B ], [ 20, %C ]
  %m = phi i1 [ true, %B ], [ true, %C ] shadow(false)
  br label %E
E:
  %s = select i1 %m, i32 1, i32 0
  ret i32 %s
}"""


def test_a_shadow_phi_is_the_control_mask_made_explicit() -> None:
    data, defined, _ = run(FIGURE_4_10, [[True, True, False, False], [True, False, True, False]], 4, "OBL")
    assert data == [1, 0, 1, 0] and all(defined)


DIVERGENT_LOOP = """
define i32 @f(i32 %n) {
A:
  br label %B
B:
  %i = phi i32 [ 0, %A ], [ %i1, %B ]
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %B, label %C
C:
  ret i32 %i1
}"""


def test_freezing_keeps_the_values_of_threads_that_left_a_loop() -> None:
    data, defined, trace = run(DIVERGENT_LOOP, [[1, 3, 2]], 3, "FR")
    assert data == [1, 3, 2] and all(defined)
    assert trace.blocks[1:4] == [("B", [1, 1, 1]), ("B", [0, 1, 1]), ("B", [0, 1, 0])]
    assert trace.names == "ABBBC", "all threads leave the loop before what follows runs"


def test_oblivious_overwrites_the_values_of_threads_that_left_a_loop() -> None:
    data, defined, _ = run(DIVERGENT_LOOP, [[1, 3, 2]], 3, "OBL")
    assert defined == [False, True, False] and data[1] == 3


def test_the_divergent_loop_transform_by_hand_is_right_under_both_semantics() -> None:
    """Moll, Fig. 3.20: a tracker with a shadow keeps the live-out, a mask keeps threads in the loop."""
    text = """
declare i1 @weft.any(i1)
define i32 @f(i32 %n) {
A:
  br label %B
B: predicate(%live)
  %i = phi i32 [ 0, %A ], [ %i1, %latch ]
  %live = phi i1 [ true, %A ], [ %stay, %latch ]
  %track = phi i32 [ 0, %A ], [ %kept, %latch ]
  %i1 = add i32 %i, 1
  br label %latch
latch:
  %more = icmp ult i32 %i1, %n
  %stay = select i1 %live, i1 %more, i1 false
  %kept = select i1 %live, i32 %i1, i32 %track
  %some = call i1 @weft.any(i1 %stay)
  br i1 %some, label %B, label %C
C:
  ret i32 %kept
}"""
    for semantics in ("FR", "OBL"):
        data, defined, trace = run(text, [[1, 3, 2]], 3, semantics)
        assert data == [1, 3, 2] and all(defined)
        assert trace.names == "ABlatchBlatchBlatchC"


def test_any_in_the_body_of_a_break_has_one_answer() -> None:
    """Moll, Fig. 5.3: D is run once for all, after both ways into it."""
    text = """
declare i1 @weft.any(i1)
define i32 @f(i1 %p, i1 %v) {
A:
  br i1 %p, label %B, label %C
B:
  br label %D
C:
  br label %D
D:
  %a = call i1 @weft.any(i1 %v)
  br i1 %a, label %E, label %F
E:
  br label %G
F:
  br label %G
G:
  %x = phi i32 [ 1, %E ], [ 0, %F ]
  ret i32 %x
}"""
    data, _, trace = run(text, [[True, False], [False, True]], 2)
    assert data == [1, 1] and trace.names == "ABCDEG"


def test_horizontal_operations_read_active_lanes_only() -> None:
    text = """
declare i1 @weft.any(i1)
declare i1 @weft.all(i1)
declare i64 @weft.ballot(i1)
declare i64 @weft.popcount(i1)
declare i64 @weft.active()
define i64 @f(i1 %in, i1 %v) {
A:
  br i1 %in, label %B, label %C
B:
  %any = call i1 @weft.any(i1 %v)
  %all = call i1 @weft.all(i1 %v)
  %ballot = call i64 @weft.ballot(i1 %v)
  %count = call i64 @weft.popcount(i1 %v)
  %active = call i64 @weft.active()
  %w = zext i1 %any to i64
  %x = select i1 %all, i64 10, i64 0
  %y = mul i64 %ballot, 100
  %z = mul i64 %count, 10000
  %u = mul i64 %active, 100000
  %s1 = add i64 %w, %x
  %s2 = add i64 %s1, %y
  %s3 = add i64 %s2, %z
  %s4 = add i64 %s3, %u
  ret i64 %s4
C:
  ret i64 0
}"""
    # Lanes 0 and 2 are active; lane 1's true does not count.
    data, _, _ = run(text, [[True, False, True], [True, True, False]], 3)
    assert data == [1 + 100 + 10000 + 500000, 0, 1 + 100 + 10000 + 500000]
    data, _, _ = run(text, [[True, False, True], [True, False, True]], 3)
    assert data[0] == 11 + 500 + 20000 + 500000


def test_total_instructions_run_for_all_threads() -> None:
    text = """
define i32 @f(i1 %p, i32 %v) {
A:
  br i1 %p, label %B, label %C
B:
  %t = total add i32 %v, 1
  %u = add i32 %v, 1
  br label %C
C:
  %s = add i32 %t, 0
  ret i32 %s
}"""
    for semantics in ("FR", "OBL"):
        data, defined, _ = run(text, [[False, True], [5, 6]], 2, semantics)
        assert data == [6, 7] and all(defined)
    _, defined, _ = run(text.replace("total add", "add"), [[False, True], [5, 6]], 2)
    assert defined == [False, True]


def test_a_predicate_may_be_computed_by_total_instructions_of_its_block() -> None:
    text = """
define i32 @f(i32 %v) {
A: predicate(%m)
  %m = total icmp ult i32 %v, 3
  %one = add i32 %v, 100
  br label %B
B:
  %r = select i1 %m, i32 %one, i32 0
  ret i32 %r
}"""
    data, defined, _ = run(text, [[2, 3, 1]], 3, "OBL")
    assert data == [102, 0, 101] and all(defined)


def test_a_guard_restricts_one_instruction() -> None:
    text = """
define i32 @f(i1 %g, i32 %v) {
A:
  %x = guard(%g) udiv i32 10, %v
  %r = select i1 %g, i32 %x, i32 -1
  ret i32 %r
}"""
    data, defined, _ = run(text, [[True, False], [5, 0]], 2)
    assert data == [2, -1 & 0xFFFFFFFF] and all(defined)


def test_passive_threads_follow_those_that_branch() -> None:
    """Moll, Def. 13: a thread without a successor of its own waits for the guides of its block."""
    text = """
define i32 @f(i1 %p) {
A: predicate(%p)
  br i1 true, label %B, label %C
B:
  br label %D
C:
  br label %D
D:
  %x = phi i32 [ 1, %B ], [ 2, %C ]
  ret i32 %x
}"""
    data, _, trace = run(text, [[True, False]], 2)
    assert data == [1, 1] and trace.names == "ABD"


def test_passive_threads_do_not_follow_others_that_wait_at_a_successor() -> None:
    """Moll, Fig. 5.2: thread 1 goes to E with thread 0, though D, where thread 2 waits, runs before E."""
    text = """
define i32 @f(i1 %v, i1 %p) {
A:
  br i1 %v, label %B, label %C
B: predicate(%p)
  br i1 false, label %D, label %E
C:
  br label %D
D:
  br label %E
E:
  %x = phi i32 [ 1, %B ], [ 2, %D ]
  ret i32 %x
}"""
    data, _, trace = run(text, [[True, True, False], [True, False, True]], 3)
    assert data == [1, 1, 2] and trace.names == "ABCDE"


def test_threads_that_accept_any_successor_leave_a_loop_that_nobody_executes() -> None:
    """Moll, Fig. 5.5: with a predicate that is false for all, only the way out preserves termination."""
    text = """
define i32 @f(i1 %p) {
A:
  br label %B
B: predicate(%p)
  br i1 true, label %B, label %D
D:
  ret i32 7
}"""
    data, _, trace = run(text, [[False, False]], 2)
    assert data == [7, 7] and trace.names == "ABD"


def test_passive_threads_go_where_a_vote_of_all_says() -> None:
    """The way out, which is as near through C, would lead threads without work into code for full masks."""
    text = """
define i32 @f(i1 %p) {
A:
  br label %B
B: predicate(%p)
  %all = total call i1 @weft.all(i1 %p)
  br i1 %all, label %C, label %D
C:
  br label %E
D: predicate(%p)
  br label %E
E:
  %r = phi i32 [ 1, %C ], [ 2, %D ]
  ret i32 %r
}
declare i1 @weft.all(i1)"""
    for active, way in ([False, False], "ABDE"), ([True, False], "ABDE"), ([True, True], "ABCE"):
        assert run(text, [active], 2)[2].names == way


def test_an_instruction_of_a_block_without_active_threads_has_no_effect() -> None:
    text = """
define i32 @f(i1 %p, ptr %x) {
A:
  br label %B
B: predicate(%p)
  store i32 5, ptr %x
  %d = sdiv i32 1, 0
  br label %C
C:
  ret i32 1
}"""
    memory = interp.Memory()
    x = np.zeros(1, np.int32)
    outcome = interp.run_function(
        read_module(text), "f", [np.array([False, False]), memory.map_array(x)], 2, memory=memory
    )
    assert outcome.data.tolist() == [1, 1] and x[0] == 0


NESTED_SWITCH = """
define i32 @f(i32 %v) {
A:
  switch i32 %v, label %other [ i32 1, label %one
                                i32 -2, label %minus
                                i32 3, label %one ]
one:
  br label %end
minus:
  br label %end
other:
  br label %end
end:
  %r = phi i32 [ 10, %one ], [ 20, %minus ], [ 30, %other ]
  ret i32 %r
}"""


def test_switch_sends_each_thread_to_its_case() -> None:
    data, _, _ = run(NESTED_SWITCH, [np.array([1, -2, 3, 4], np.int32)], 4)
    assert data == [10, 20, 10, 30]


# Two entries into the cycle B <-> C.
IRREDUCIBLE = """
declare i1 @weft.any(i1)
define i32 @f(i1 %p, i32 %n) {
A:
  br i1 %p, label %B, label %C
B:
  %i = phi i32 [ 0, %A ], [ %j1, %C ]
  %i1 = add i32 %i, 1
  %d = icmp uge i32 %i1, %n
  br i1 %d, label %E, label %C
C:
  %j = phi i32 [ 100, %A ], [ %i1, %B ]
  %j1 = add i32 %j, 10
  %e = icmp uge i32 %j1, %n
  br i1 %e, label %E, label %B
E:
  %r = phi i32 [ %i1, %B ], [ %j1, %C ]
  ret i32 %r
}"""


def scalar_irreducible(p: bool, n: int) -> int:
    i, at = (0, "B") if p else (100, "C")
    while True:
        i += 1 if at == "B" else 10
        if i >= n:
            return i
        at = "C" if at == "B" else "B"


@pytest.mark.parametrize("semantics", ["FR", "OBL"])
def test_threads_run_on_their_own_in_irreducible_loops(semantics: str) -> None:
    rng = np.random.default_rng(1)
    p, n = rng.random(64) < 0.5, rng.integers(0, 300, 64)
    data, defined, _ = run(IRREDUCIBLE, [p, n], 64, semantics)
    assert data == [scalar_irreducible(bool(a), int(b)) for a, b in zip(p, n, strict=True)]
    assert all(defined)


def test_a_horizontal_operation_in_an_irreducible_loop_is_refused() -> None:
    text = IRREDUCIBLE.replace("%i1 = add", "%a = call i1 @weft.any(i1 %p)\n  %i1 = add")
    with pytest.raises(UnsupportedError, match="irreducible"):
        run(text, [[True, False], [5, 5]], 2)


def test_two_lane_groups_side_by_side_do_what_each_does_alone() -> None:
    text = """
declare i64 @weft.ballot(i1)
declare i64 @weft.local.id(i32)
define void @k(ptr %x, ptr %out) {
A:
  %t = call i64 @weft.local.id(i32 0)
  %p = getelementptr i32, ptr %x, i64 %t
  %n = load i32, ptr %p
  br label %B
B:
  %i = phi i32 [ 0, %A ], [ %i1, %B ]
  %sum = phi i64 [ 0, %A ], [ %sum1, %B ]
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  %votes = call i64 @weft.ballot(i1 %more)
  %twice = mul i64 %sum, 3
  %sum1 = add i64 %twice, %votes
  br i1 %more, label %B, label %C
C:
  %q = getelementptr i64, ptr %out, i64 %t
  store i64 %sum1, ptr %q
  ret void
}"""
    program = interp.Program(read_module(text))
    counts = np.random.default_rng(3).integers(1, 9, 32).astype(np.int32)
    together = np.zeros(32, np.int64)
    interp.launch(program, "k", [counts, together], 1, 32, width=8)
    alone = np.zeros(32, np.int64)
    for g in range(4):
        interp.launch(program, "k", [counts[8 * g :], alone[8 * g :]], 1, 8, width=8)
    assert np.array_equal(together, alone)


def test_a_lane_group_at_the_end_may_have_fewer_threads() -> None:
    text = """
declare i64 @weft.popcount(i1)
declare i64 @weft.local.id(i32)
define void @k(ptr %out) {
  %t = call i64 @weft.local.id(i32 0)
  %n = call i64 @weft.popcount(i1 true)
  %q = getelementptr i64, ptr %out, i64 %t
  store i64 %n, ptr %q
  ret void
}"""
    out = np.zeros(10, np.int64)
    interp.launch(read_module(text), "k", [out], 1, 10, width=4)
    assert out.tolist() == [4] * 8 + [2] * 2


def test_a_program_that_does_not_end_is_stopped() -> None:
    text = """
define i32 @f(i32 %n) {
A:
  br label %B
B:
  %i = phi i32 [ 0, %A ], [ %i1, %B ]
  %i1 = add i32 %i, 1
  br label %B
}"""
    with pytest.raises(InterpError, match="no end after 1000 blocks"):
        interp.run_function(read_module(text), "f", [1], 2, step_limit=1000)


def test_reaching_unreachable_is_a_fault_and_passing_by_is_not() -> None:
    text = """
define i32 @f(i1 %p) {
A:
  br i1 %p, label %B, label %C
B:
  unreachable
C:
  ret i32 1
}"""
    assert run(text, [[False, False]], 2)[0] == [1, 1]
    with pytest.raises(InterpError, match=r"unreachable .*thread 1"):
        run(text, [[False, True]], 2)
