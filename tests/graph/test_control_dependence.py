from hypothesis import given

from random_cfgs import acyclic_cfgs, arbitrary_cfgs
from weft.graph.cfg import CFG
from weft.graph.control_dependence import control_dependence
from weft.graph.dominators import post_dominator_tree


def depends_on(cfg: CFG, label: str) -> set[str]:
    return {cfg.labels[b] for b in control_dependence(cfg).on[cfg.block(label)]}


@given(arbitrary_cfgs())
def test_control_dependence_is_that_of_its_definition(cfg: CFG):
    tree = post_dominator_tree(cfg)
    relation = control_dependence(cfg)
    for block in range(len(cfg)):
        for branch in range(len(cfg)):
            expected = tree.reaches(branch) and any(
                tree.dominates(block, target) and not tree.strictly_dominates(block, branch)
                for target in cfg.succs[branch]
            )
            assert (branch in relation.on[block]) == expected
            assert (block in relation.dependents[branch]) == expected


@given(acyclic_cfgs())
def test_iterated_dependents_lie_between_a_branch_and_its_post_dominator(cfg: CFG):
    tree = post_dominator_tree(cfg)
    relation = control_dependence(cfg)
    for branch in range(len(cfg)):
        stop = tree.idom[branch]
        between: set[int] = set()
        work = list(cfg.succs[branch]) if stop >= 0 else []
        while work:
            block = work.pop()
            if block != stop and block not in between:
                between.add(block)
                work.extend(cfg.succs[block])
        assert relation.iterated([branch]) == between


def test_arms_depend_on_the_branch_and_the_join_does_not():
    cfg = CFG.parse("A -> B C; B -> D; C -> D")
    assert depends_on(cfg, "B") == depends_on(cfg, "C") == {"A"}
    assert depends_on(cfg, "D") == set()


def test_a_loop_depends_on_its_own_exit_condition():
    cfg = CFG.parse("A -> H; H -> B X; B -> H")
    assert depends_on(cfg, "H") == depends_on(cfg, "B") == {"H"}
    assert depends_on(cfg, "X") == set()


def test_nested_branches_are_reached_by_iteration_only():
    cfg = CFG.parse("A -> B D; B -> C D; C -> D")
    relation = control_dependence(cfg)
    assert relation.on[cfg.block("C")] == (cfg.block("B"),)
    assert relation.iterated([0]) == {cfg.block("B"), cfg.block("C")}
