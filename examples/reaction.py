"""A reaction of two chemicals (Gray and Scott) that grows patterns: a stencil over `weft.prange`, two grids in turn."""

from pathlib import Path

import numpy as np
from PIL import Image
from timing import report

import weft

FEED, KILL = np.float32(0.037), np.float32(0.06)


@weft.jit
def react(u, v, new_u, new_v, feed, kill):
    """One step of time on all inner cells."""
    for i in weft.prange(1, u.shape[0] - 1):
        for j in weft.prange(1, u.shape[1] - 1):
            spread_u = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - np.float32(4) * u[i, j]
            spread_v = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - np.float32(4) * v[i, j]
            eaten = u[i, j] * v[i, j] * v[i, j]
            new_u[i, j] = u[i, j] + np.float32(0.16) * spread_u - eaten + feed * (1 - u[i, j])
            new_v[i, j] = v[i, j] + np.float32(0.08) * spread_v + eaten - (feed + kill) * v[i, j]


def steps(u, v, count):
    """So many steps, and the grids behind them."""
    new_u, new_v = u.copy(), v.copy()
    for _ in range(count):
        react(u, v, new_u, new_v, FEED, KILL)
        u, v, new_u, new_v = new_u, new_v, u, v
    return u, v


def step_by_numpy(u, v):
    """One step in NumPy."""

    def spread(a):
        return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - np.float32(4) * a[1:-1, 1:-1]

    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    eaten = inner_u * inner_v * inner_v
    return (
        inner_u + np.float32(0.16) * spread(u) - eaten + FEED * (1 - inner_u),
        inner_v + np.float32(0.08) * spread(v) + eaten - (FEED + KILL) * inner_v,
    )


def main() -> None:
    size = 320
    u, v = np.ones((size, size), np.float32), np.zeros((size, size), np.float32)
    for y, x in np.random.default_rng(3).integers(20, size - 20, (24, 2)):
        u[y - 5 : y + 5, x - 5 : x + 5], v[y - 5 : y + 5, x - 5 : x + 5] = 0.5, 0.25
    expected = step_by_numpy(u, v)
    once = steps(u.copy(), v.copy(), 1)
    np.testing.assert_allclose(once[0][1:-1, 1:-1], expected[0], atol=1e-6)
    np.testing.assert_allclose(once[1][1:-1, 1:-1], expected[1], atol=1e-6)
    report(f"a step of {size} x {size}", lambda: steps(u.copy(), v.copy(), 1))
    _, v = steps(u, v, 6000)
    shade = np.clip(v * 3, 0, 1)[..., None] * np.array([90.0, 160.0, 255.0])
    file = Path(__file__).parent.parent / "out" / "reaction.png"
    file.parent.mkdir(exist_ok=True)
    Image.fromarray((255 - shade).astype(np.uint8)).save(file)
    print(f"  agrees with NumPy; written to out/{file.name}")


if __name__ == "__main__":
    main()
