"""Sampaio et al.: Fig. 16, 17 and 19, avgSquare with three registers."""

import pytest

from spill.programs import AVG_SQUARE
from weft.ptx.flow import flow_of
from weft.ptx.reader import read_module
from weft.ptx.regalloc.intervals import intervals_of
from weft.ptx.regalloc.liveness import liveness_of
from weft.ptx.regalloc.sizes import register_words
from weft.ptx.regalloc.webs import renamed_webs
from weft.spill.module import SpilledModule, spill

# The paper's spill code, with the instruction of the source that it stands at: before it (loads), behind it (stores).
FIG_17 = [
    ("st.local", "d", "mov d"), ("st.local", "s", "mov s"), ("st.local", "N", "add N"), ("ld.local", "N", "setp"),
    ("ld.local", "s", "add s"), ("st.local", "s", "add s"), ("ld.local", "d", "add d"), ("st.local", "d", "add d"),
    ("ld.local", "d", "cvt"),
]  # fmt: skip
FIG_19 = [
    ("st.shared", "d", "mov d"), ("st.local", "s", "mov s"), ("st.shared", "N", "add N"), ("ld.shared", "N", "setp"),
    ("ld.local", "s", "add s"), ("st.local", "s", "add s"), ("ld.shared", "d", "add d"), ("st.shared", "d", "add d"),
    ("ld.shared", "d", "cvt"),
]  # fmt: skip


def allocated(policy: str, **options) -> SpilledModule:
    """avgSquare as the paper allocates it: bases and ids come on top."""
    return spill(AVG_SQUARE, 3, policy, block=64, count_bases=False, farthest="last", **options)


def spill_code(module: SpilledModule) -> list[tuple[str, str, str]]:
    """The accesses of spill code in their order."""
    found = module.kernels["avgSquare"]
    source = list(found.kernel.function.instructions())
    names = {"%N$1": "N"}
    rows = []
    for each in found.inserted:
        i = each.instruction
        if i.opcode not in ("ld", "st") or each.at < 0:
            continue
        space = next(m for m in i.modifiers if m in ("local", "shared"))
        at = source[each.at]
        name = names.get(each.register, each.register.removeprefix("%"))
        target = str(getattr(at.operands[0], "name", ""))
        target = names.get(target, target.removeprefix("%"))
        where = at.opcode if at.opcode in ("setp", "cvt") else f"{at.opcode} {target}"
        rows.append((f"{i.opcode}.{space}", name, where))
    return rows


def test_fig_16_live_ranges(golden) -> None:
    function = renamed_webs(read_module(AVG_SQUARE, "avgSquare.ptx").function("avgSquare"))
    liveness = liveness_of(flow_of(function))
    intervals = [i for i in intervals_of(liveness, register_words(function)) if i.words]
    count = sum(1 for _ in function.instructions())
    lines = []
    for interval in intervals:
        row = "".join("#" if interval.covers(p) else "." for p in range(2 * count))
        lines.append(f"{interval.register:6} {row}")
    golden("\n".join(lines) + "\n", "fig16.txt")


def test_fig_17_spills_s_d_and_n_to_local_memory(golden) -> None:
    module = allocated("local")
    assert spill_code(module) == FIG_17
    # L10 leads to the reload of d.
    assert "@%p bra L23;" in module.text
    behind = module.text.partition("L23:\n")[2]
    assert behind.lstrip().startswith("ld.local.b32")
    golden(module.text, "fig17.ptx")


def test_fig_19_shares_d_and_the_base_of_n(golden) -> None:
    module = allocated("affine")
    assert spill_code(module) == FIG_19
    golden(module.text, "fig19.ptx")


def test_divra_shares_d_alone() -> None:
    expected = [(op.replace("shared", "local"), n, at) if n == "N" else (op, n, at) for op, n, at in FIG_19]
    assert spill_code(allocated("div")) == expected


def test_spill_everywhere_reloads_s_behind_the_loop_too() -> None:
    code = spill_code(allocated("local", reuse=False))
    assert ("ld.local", "s", "div t3") in code
    assert len(code) == len(FIG_17) + 1


@pytest.mark.parametrize("policy", ["local", "div", "affine"])
def test_all_policies_spill_the_same_values(policy: str) -> None:
    assert set(allocated(policy).kernels["avgSquare"].places) == {"%s", "%d", "%N$1"}


def test_fig_26_distributions(golden) -> None:
    from weft.spill.tables import distributions

    golden(distributions([allocated("affine").kernels["avgSquare"]]).text(), "fig26.txt")
