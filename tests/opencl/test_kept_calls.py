"""Functions that stay calls, where inlining all of them would make a kernel too large."""

import numpy as np
import pytest

from weft import opencl
from weft.frontend.device.kept_calls import keep_calls
from weft.opencl import source as building

pytest.importorskip("ziglang")

ROUNDS = 4
SOURCE = f"""
constant float table[4] = {{1, 2, 3, 5}};
float4 turned(float4 v, int k) {{
  for (int i = 0; i < (k & 3); i++) v = v.wxyz * table[i] + k;
  return v;
}}
float picked(global const float *x, int at, int n) {{
  if (at >= n) {{
    printf("%d ", at);
    return -1;
  }}
  float s = 0;
  for (int i = at; i < n && s < 40; i += 3) s += x[i] * x[i] + i;
  return s;
}}
float first(local float *t, int l) {{
  barrier(CLK_LOCAL_MEM_FENCE);
  return t[(l + 1) & 7];
}}
kernel void k(global const float *x, global float4 *o, int n) {{
  local float t[8];
  int g = get_global_id(0), l = get_local_id(0);
  float4 v = (float4)(g, l, 1, 2);
  t[l] = g;
  v.x += first(t, l);
  {"".join(f"v = turned(v, g + {k}); v.y += picked(x, g * {k % 5}, n); " for k in range(ROUNDS))}
  o[g] = v;
}}"""


def result(debug: bool = False) -> np.ndarray:
    x, o = np.arange(40, dtype=np.float32) / 7, np.zeros((40, 4), np.float32)
    opencl.Program(SOURCE, debug=debug).k(40, 8, x, o, 37)
    return o


@pytest.mark.parametrize("debug", [False, True])
def test_kernels_compute_the_same_with_calls(debug: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "default_cache", lambda: None)
    wanted = result()
    sizes = []

    def kept(text: str) -> str:
        sizes.append(text)
        sizes.append(keep_calls(text, 60))
        return sizes[-1]

    monkeypatch.setattr(building, "keep_calls", kept)
    assert np.allclose(result(debug), wanted, rtol=1e-5)
    plain, with_calls = (text.count("alwaysinline") for text in sizes)
    assert with_calls == plain - 2, "what has a barrier is inlined all the same"


def test_small_programs_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(building, "default_cache", lambda: None)
    monkeypatch.setattr(building, "keep_calls", lambda text: seen.append(text) or text)
    building.build_source(SOURCE)
    assert keep_calls(seen[0]) == seen[0]


IMAGES = 40
READS = "".join(f"s += read_imagef(i{k}, sampler, (int2)(g & 3, 1));" for k in range(IMAGES))
READER = f"""
kernel void k({", ".join(f"read_only image2d_t i{k}" for k in range(IMAGES))}, global float4 *o) {{
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int g = get_global_id(0);
  float4 s = 0;
  {READS}
  o[g] = s;
}}"""


def test_functions_of_the_library_may_stay_calls() -> None:
    program = building.build_source(READER)
    assert program.text.count("\n") < 60 * IMAGES, "each read is more than 300 lines, and one copy is there"
    given = [np.full((2, 4, 4), k, np.float32) for k in range(IMAGES)]
    o = np.zeros((8, 4), np.float32)
    opencl.Program(READER).k(8, 8, *(opencl.Image(a, "RGBA") for a in given), o)
    assert (o == sum(range(IMAGES))).all()
