"""The bench of Table 1: its columns are options that there are, and what the table says of medians."""

from bench.harness import Comparison, Measurement, Status
from bench.table1 import COLUMNS, goals, table
from weft.frontend.opencl.options import parse_options
from weft.switches import ALL_ON


def comparison(**seconds: float) -> Comparison:
    return Comparison("dct", [Measurement(k, Status.MEASURED, seconds=[s]) for k, s in seconds.items()])


def test_columns_leave_parts_out() -> None:
    parsed = {name: parse_options(" ".join(options)) for name, options in COLUMNS.items()}
    assert parsed["scalar"].width == 1 and parsed["all"].switches == ALL_ON
    assert not parsed["UniVal"].switches.uniform_control and parsed["UniVal"].switches.uniform_values
    assert not parsed["naive"].switches.uniform_values and parsed["UniCF"].boscc == "off"


def test_the_table_has_ratios_and_goals_name_the_rows_that_lose() -> None:
    found = {
        "dct": comparison(all=1e-3, naive=6e-3, UniVal=4e-3, UniCF=2e-3, PoCL=8e-3, Intel=4e-3),
        "nbody": comparison(all=2e-3, naive=6e-3, UniVal=4e-3, UniCF=4e-3, PoCL=1e-3, Intel=4e-3),
    }
    lines = table(found).splitlines()
    assert lines[2] == "| dct | 1.00 | 6.00 | 4.00 | 2.00 | 8.00 | 4.00 | 1.50 | 2.00 | 8.00 | 4.00 |"
    assert lines[-1].endswith("1.50 | 1.41 | 2.00 | 2.83 |")
    wanted = goals(found, "x86-64-v3")
    assert [goal.met for goal in wanted] == [True, True, False, False]
    assert "nbody (0.50)" in wanted[-1].text and "dct" not in wanted[-1].text
