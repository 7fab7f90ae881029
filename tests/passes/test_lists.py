"""The lists of passes: complete, consistent, and what the documentation says."""

from pathlib import Path

import pytest

from weft.cli.passes import markdown
from weft.codegen.lanes.lane_facts import UNMASKED
from weft.codegen.lanes.lane_passes import (
    CONTROL_UNIFORM,
    LANES,
    LINEARIZATION,
    LOOP_CLOSED,
    UNIFORM_LOOPS,
    WIDENING,
)
from weft.errors import PassError
from weft.passes import doors
from weft.passes.catalog import LISTS, ON_LANES, ON_MODULES, known_names, list_named, passes_named
from weft.passes.declared import Fact, Meaning, Pass
from weft.passes.runner import Runner
from weft.switches import OPTIONAL_PASSES

DOCUMENT = Path(__file__).parents[2] / "docs" / "passes.md"


@pytest.mark.parametrize("passes", LISTS, ids=lambda passes: passes.name)
def test_the_documentation_has_the_list(passes):
    assert "\n".join(markdown(passes)) in DOCUMENT.read_text()


def test_each_pass_runs_for_every_door_or_it_is_said_why_not():
    listed = {passes.name: {each.name for _, each in passes.walk()} for passes in LISTS}
    names = set().union(*listed.values())
    missing = {(name, door) for name in names for door, has in listed.items() if name not in has}
    assert set(doors.reasons()) == missing
    assert sum(len(left.passes) * len(left.lists) for left in doors.LEFT_OUT) == len(missing)
    assert "\n".join(doors.markdown()) in DOCUMENT.read_text()


@pytest.mark.parametrize("passes", LISTS, ids=lambda passes: passes.name)
def test_names_and_promises_are_said_once(passes):
    names = [each.name for each in passes]
    assert len(set(names)) == len(names)
    assert all(each.promise and not each.promise.endswith(".") for _, each in passes.walk())


@pytest.mark.parametrize("passes", LISTS, ids=lambda passes: passes.name)
def test_each_list_vectorizes_by_the_same_passes(passes):
    runs = [tuple(each.parts) for _, each in passes.walk() if each.parts]
    # Functions have numbers made narrow there, too, before they go into lanes.
    assert any(run[-len(LANES) :] == LANES for run in runs)


def test_the_order_of_lanes_provides_what_each_pass_requires():
    known: set[str] = {"vectorizable", LOOP_CLOSED.name, UNMASKED.name}
    for each in LANES:
        assert {fact.name for fact in each.requires} <= known
        known |= {fact.name for fact in each.provides}
    assert {UNIFORM_LOOPS.name, CONTROL_UNIFORM.name} <= known


def test_only_widening_leaves_lanes_behind():
    assert [each for each in LANES if each.meaning is Meaning.SCALAR] == [WIDENING]
    assert LINEARIZATION.meaning is Meaning.BOTH


def test_passes_are_found_as_commands_write_them():
    assert passes_named(["divergent-loops", "narrow-phis"])[0].name == "divergent loops"
    assert {each.flag for each in (*ON_MODULES, *ON_LANES)} <= known_names()
    assert list_named("foreign-loops") is LISTS[2] and list_named("lanes") is None
    with pytest.raises(PassError, match="no pass 'inline'"):
        passes_named(["inline"])


def test_options_know_the_optional_passes():
    optional = {each.name for passes in LISTS for _, each in passes.walk() if each.optional}
    assert set(OPTIONAL_PASSES.values()) == optional


def noted(name, into, **fields):
    return Pass(name, name, lambda unit: into.append(name), **fields)


def test_optional_passes_can_be_left_out_and_others_cannot():
    seen: list[str] = []
    passes = [noted("a", seen), noted("b", seen, optional=True), noted("c", seen)]
    Runner(left_out=frozenset({"a", "b"})).run(passes, None)
    assert seen == ["a", "c"]


def test_what_does_not_apply_does_not_run():
    seen: list[str] = []
    Runner().run([noted("a", seen, applies=lambda unit: unit > 1)], 1)
    assert seen == []


def test_watchers_hear_of_what_changed_something():
    heard: list[str] = []
    passes = [Pass("idle", "", lambda unit: False), Pass("busy", "", lambda unit: None)]
    runner = Runner((lambda done, unit: heard.append(done.name),))
    runner.run(passes, None)
    assert heard == ["busy"] and set(runner.seconds) == {"idle", "busy"}


def test_strict_runners_ask_for_what_is_required_and_promised():
    odd = Fact("odd", "not even", lambda unit: unit[0] % 2 == 1)

    def add(unit):
        unit[0] += 1

    broken = Pass("broken", "", add, requires=(odd,), provides=(odd,))
    Runner().run([broken], [2])
    with pytest.raises(PassError, match="'broken' needs a program that is odd: not even"):
        Runner(strict=True).run([broken], [2])
    with pytest.raises(PassError, match="'broken' left a program that is not odd"):
        Runner(strict=True).run([broken], [1])
