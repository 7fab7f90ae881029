"""Which loads are asked for at all, and how far back."""

import pytest

from analysis.test_questions import Asker, loop, plus, read
from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.questions import nearness
from weft.analysis.questions.company import loads_in_company
from weft.analysis.questions.nearness import NEAR, distances


def in_company(text: str) -> list[str]:
    facts = FunctionFacts(Asker(text).function)
    return sorted(load.name for load in loads_in_company(facts.view, facts.propagation.loops))


def test_a_load_needs_company_or_an_address_that_stays() -> None:
    assert in_company(loop(read("x", "%i"))) == []
    assert in_company(loop(read("x", "%i") + read("y", "%i", "%b"))) == []
    assert in_company(loop(read("x", "%i") + read("y", "%n"))) == ["x", "y"]
    assert in_company(loop(read("x", "%n"))) == ["x"], "each iteration reads it"


def test_pointers_of_one_phi_go_together() -> None:
    text = """
        define void @f(ptr %a, ptr %end) {
        entry:
          %first = load float, ptr %a
          br label %body
        body:
          %p = phi ptr [ %a, %entry ], [ %q, %body ]
          %x = load float, ptr %p
          %q = getelementptr float, ptr %p, i64 1
          %more = icmp ne ptr %q, %end
          br i1 %more, label %body, label %exit
        exit:
          ret void
        }
        """
    assert in_company(text) == ["first", "x"]


def test_members_of_structures_are_not_asked_for_others() -> None:
    #  a[2*i] and a[2*i + 1] never meet; a[2*i] and a[2*i + 2] do.
    def asked(offset: int) -> dict[str, int]:
        twice = "%d = mul nsw i64 %i, 2\n"
        asker = Asker(loop(twice + plus("e", "%d", offset) + read("x", "%d") + read("y", "%e")))
        found = distances(dict(asker.graph.plain_accesses()), 8)
        return {load.name: distance for load, distance in found.items()}

    assert asked(1) == {}
    assert asked(2) == {"x": 8, "y": 8}


def test_far_back_only_where_another_access_has_the_same_counters() -> None:
    asker = Asker(loop(read("x", "%i"), more=read("first", "0")))
    assert distances(dict(asker.graph.plain_accesses()), 8)[asker.instruction("x")] == NEAR


def test_each_access_is_looked_at_once_and_not_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 60
    reads = "".join(plus(f"e{k}", "%i", k) + read(f"x{k}", f"%e{k}") for k in range(many))
    asker = Asker(loop(reads))
    accesses = dict(asker.graph.plain_accesses())
    looks, residues = [], nearness._residues
    monkeypatch.setattr(
        nearness, "_residues", lambda place, divisor: looks.append(0) or residues(place, divisor)
    )
    assert set(distances(accesses, 8).values()) == {8}
    assert many <= len(looks) <= 3 * len(accesses)
