"""Which cases tests with several parameters take (`pairs`)."""

import itertools

import pytest

from pairs import in_turn, pairs, spread


@pytest.mark.parametrize("lengths", [(2, 3, 4), (3, 3, 3), (1, 5, 2), (4,), (2, 0, 2)])
def test_each_two_values_meet(lengths: tuple[int, ...]) -> None:
    axes = [[f"{axis}{k}" for k in range(length)] for axis, length in zip("abc", lengths, strict=False)]
    chosen = pairs(*axes, whole=False)
    for one, other in itertools.combinations(range(len(axes)), 2):
        assert {(case[one], case[other]) for case in chosen} == set(
            itertools.product(axes[one], axes[other]) if all(axes) else ()
        )
    assert sorted(pairs(*axes, whole=True)) == sorted(itertools.product(*axes))


@pytest.mark.parametrize("lengths", [(2, 5), (3, 3), (4, 1), (2, 3, 7)])
def test_each_value_is_taken_and_no_two_more_often_than_need_be(lengths: tuple[int, ...]) -> None:
    cases = [dict(enumerate(case)) for case in itertools.product(*map(range, lengths))]
    chosen = [cases[k] for k in spread(cases)]
    for axis, length in enumerate(lengths):
        assert {case[axis] for case in chosen} == set(range(length))
    assert len(chosen) == max(lengths)
    assert all(
        abs(len(chosen) / length - sum(case[axis] == value for case in chosen)) <= 1
        for axis, length in enumerate(lengths)
        for value in range(length)
    )


def test_what_this_machine_runs_stands_for_the_rest() -> None:
    cases = [{"level": level, "function": f} for level in ("old", "new", "absent") for f in "abcd"]
    chosen = [cases[k] for k in spread(cases, [case["level"] == "absent" for case in cases])]
    runs = [case for case in chosen if case["level"] != "absent"]
    assert {case["function"] for case in runs} == set("abcd")
    assert len(chosen) == len(runs) + 1


def test_no_case_is_left_out_of_one_parameter() -> None:
    assert spread([{"a": k} for k in range(5)]) == list(range(5))
    assert spread([]) == []


def test_cases_of_as_many_turns_have_every_value() -> None:
    values = list("abcdefg")
    assert sorted(v for turn in range(3) for v in in_turn(values, turn, 3, whole=False)) == values
    assert in_turn(values, 1, 3, whole=True) == values
