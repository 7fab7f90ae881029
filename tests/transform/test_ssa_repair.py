"""SSA repair against running the program: on each path a use reads the last definition before it."""

import random

from hypothesis import given
from hypothesis import strategies as st

from random_cfgs import arbitrary_cfgs
from weft.graph.cfg import CFG
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.types import I1, I32, VOID, FunctionType
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses


def function_of(cfg: CFG) -> Function:
    function = Function("f", FunctionType(VOID, (I32,)), ("x",))
    Module("m").add_function(function)
    blocks = [function.add_block(f"b{i}") for i in range(len(cfg))]
    for block, targets in zip(blocks, cfg.succs, strict=True):
        builder = Builder(block)
        if not targets:
            builder.ret()
        elif len(targets) == 1:
            builder.br(blocks[targets[0]])
        else:
            builder.switch(
                function.args[0], blocks[targets[0]], [(i, blocks[t]) for i, t in enumerate(targets[1:])]
            )
    return function


@st.composite
def graphs_with_definitions(draw: st.DrawFn) -> tuple[CFG, set[int], int, random.Random]:
    """Any graph, whose entry no edge leads back to; the blocks that define the variable; one that uses it."""
    cfg = draw(arbitrary_cfgs(max_blocks=7))
    cfg = CFG([(1,), *(tuple(t + 1 for t in targets) for targets in cfg.succs)])
    blocks = st.integers(0, len(cfg) - 1)
    return cfg, set(draw(st.lists(blocks, max_size=3))), draw(blocks), draw(st.randoms(use_true_random=False))


def walk(cfg: CFG, rng: random.Random) -> list[int]:
    path = [0]
    while cfg.succs[path[-1]] and len(path) < 30:
        path.append(rng.choice(cfg.succs[path[-1]]))
    return path


def evaluate(blocks: list[BasicBlock], path: list[int], at: int, value: Value) -> Value:
    """What `value` is when block number `at` of the path begins, following φs back along the path."""
    while isinstance(value, Instruction) and value.is_phi:
        assert value.block is not None
        while blocks[path[at]] is not value.block:
            at -= 1
        source = blocks[path[at - 1]]
        value = next(v for v, from_block in value.incoming() if from_block is source)
        at -= 1
    return value


@given(graphs_with_definitions(), st.booleans())
def test_on_every_path_the_last_definition_is_read(drawn, simplified: bool):
    cfg, defining, use, rng = drawn
    blocks = function_of(cfg).blocks
    values = {blocks[b]: ConstInt(I32, b) for b in defining}
    reaching = ReachingDefinition(I32, values)
    reaching.start_of(blocks[use])
    if simplified:
        reaching.simplify()
    found = reaching.start_of(blocks[use])
    for _ in range(20):
        path = walk(cfg, rng)
        for at, block in enumerate(path):
            if block == use:
                before = [b for b in path[:at] if b in defining]
                expected = ConstInt(I32, before[-1]) if before else Poison(I32)
                assert evaluate(list(blocks), path, at, found) == expected


@given(graphs_with_definitions())
def test_simplified_phis_merge_different_values(drawn):
    cfg, defining, use, _ = drawn
    function = function_of(cfg)
    reaching = ReachingDefinition(I32, {function.blocks[b]: ConstInt(I32, b) for b in defining})
    reaching.start_of(function.blocks[use])
    reaching.simplify()
    for phi in reaching.new_phis:
        assert len({v for v in phi.operands if v is not phi}) > 1
        assert phi in list(phi.block.phis())


@given(graphs_with_definitions())
def test_each_edge_has_its_value(drawn):
    cfg, defining, use, _ = drawn
    function = function_of(cfg)
    reaching = ReachingDefinition(I32, {function.blocks[b]: ConstInt(I32, b) for b in defining})
    reaching.start_of(function.blocks[use])
    for phi in reaching.new_phis:
        sources = [function.blocks[p] for p in cfg.preds[function.blocks.index(phi.block)]]
        assert sorted(b.name for b in phi.blocks) == sorted(b.name for b in sources)


def test_a_use_in_a_loop_reads_what_the_iteration_before_defined():
    r"""
    b0 (0)
     |
    b1<+     use here
     | |
    b2-+ (2)
     |
    b3
    """
    function = function_of(CFG([(1,), (2,), (1, 3), ()]))
    b0, b1, b2, b3 = function.blocks
    old = b0.insert(0, Instruction("freeze", I32, (function.args[0],)))
    new = b2.insert(0, Instruction("freeze", I32, (function.args[0],)))
    use = b1.insert(0, Instruction("freeze", I32, (old,)))
    late = b3.insert(0, Instruction("freeze", I32, (old,)))
    rewrite_uses(old, [use, late], ReachingDefinition(I32, {b0: old, b2: new}, "v"))
    (phi,) = b1.phis()
    assert use.operands[0] is phi
    assert dict(zip(phi.blocks, phi.operands, strict=True)) == {b0: old, b2: new}
    assert late.operands[0] is new


def test_a_phi_reads_at_the_end_of_the_incoming_block():
    function = function_of(CFG([(1, 2), (3,), (3,), ()]))
    b0, b1, b2, b3 = function.blocks
    old = b0.insert(0, Instruction("freeze", I32, (function.args[0],)))
    new = b2.insert(0, Instruction("freeze", I32, (function.args[0],)))
    phi = Builder(b3).phi(I32)
    phi.add_incoming(old, b1)
    phi.add_incoming(old, b2)
    rewrite_uses(old, [phi], ReachingDefinition(I32, {b0: old, b2: new}))
    assert list(phi.incoming()) == [(old, b1), (new, b2)]


def test_nothing_reaches_a_block_before_the_first_definition():
    function = function_of(CFG([(1,), ()]))
    reaching = ReachingDefinition(I1, {function.blocks[1]: ConstInt(I1, 1)}, unreached=ConstInt(I1, 0))
    assert reaching.start_of(function.blocks[1]) == ConstInt(I1, 0)
    assert reaching.end_of(function.blocks[1]) == ConstInt(I1, 1)
