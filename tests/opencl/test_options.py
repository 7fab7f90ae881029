"""Options of the OpenCL door that all doors have."""

from typing import Any

import numpy as np
import pytest

from weft import opencl
from weft.errors import BuildError, PassError, SettingError, SignatureError

_SOURCE = """
kernel void smooth(global const float *restrict x, global float *restrict y, int n) {
    int part = get_global_id(0);
    for (int k = 0; k < n; k++)
        y[part * n + k] = x[part * n + k] + x[part * n + k + 1] + x[part * n + k + 2];
}
"""


@pytest.mark.parametrize("options", [{"scalar_replacement": "off"}, {"without": ("narrowing",)}])
def test_programs_compute_the_same(options: dict[str, Any]) -> None:
    x = np.arange(66, dtype=np.float32)
    y = np.zeros(64, np.float32)
    program = opencl.Program(_SOURCE, width=8, **options)
    program.smooth(16, 16, x, y, 4)
    assert (y == x[:-2] + x[1:-1] + x[2:]).all()
    plain = opencl.Program(_SOURCE).smooth.compiled()
    assert program.smooth.compiled().options.switches != plain.options.switches
    replaced = ["iteration before" in remark.message for remark in program.smooth.remarks].count(True)
    assert replaced == (0 if "scalar_replacement" in options else 2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"scalar_replacement": "all"}, SignatureError),
        ({"without": ("widening",)}, PassError),
        ({"width": 3}, SignatureError),
        ({"boscc": "maybe"}, SignatureError),
    ],
)
def test_options_that_there_are_not(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        opencl.Program(_SOURCE, **options)


def test_build_options_say_the_same() -> None:
    asked = "-weft-width=4 -weft-boscc=off -weft-uniform-values=off -weft-without=narrowing,boscc"
    options = opencl.Program(_SOURCE, asked).smooth.compiled().options
    arguments = {"width": 4, "boscc": "off", "uniform_values": False, "without": ("narrowing", "boscc")}
    assert options == opencl.Program(_SOURCE, **arguments).smooth.compiled().options
    assert opencl.Program(_SOURCE, asked, width=8).smooth.compiled().options.width == 8


@pytest.mark.parametrize(
    "option", ["width=3", "width=x", "boscc=maybe", "uniform-values=no", "without=x", "lanes=4"]
)
def test_build_options_that_there_are_not(option: str) -> None:
    with pytest.raises(SettingError):
        opencl.Program(_SOURCE, f"-weft-{option}")


def test_pointers_of_other_types_are_a_warning() -> None:
    source = "kernel void k(global int *o) { global float *f = o; f[get_global_id(0)] = 1; }"
    program = opencl.Program(source)
    assert "incompatible pointer types" in program.log
    out = np.zeros(4, np.int32)
    program.k(4, 4, out)
    assert (out.view(np.float32) == 1).all()
    with pytest.raises(BuildError):
        opencl.Program(source, "-Werror")
