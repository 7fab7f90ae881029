"""The kernels of PolyBench in plain Python: linear algebra, stencils, data mining and dynamic programming.

Each is a function over float64 arrays, written with `range` as a textbook has it, with a size at which all of them in
order take a few hundredths of a second to a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Arguments = Callable[[np.random.Generator], tuple[Any, ...]]


def gemm(alpha, beta, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def two_products(alpha, beta, t, a, b, c, d):
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            t[i, j] = 0.0
            for k in range(a.shape[1]):
                t[i, j] += alpha * a[i, k] * b[k, j]
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            d[i, j] *= beta
            for k in range(t.shape[1]):
                d[i, j] += t[i, k] * c[k, j]


def atax(a, x, y, t):
    for i in range(a.shape[1]):
        y[i] = 0.0
    for i in range(a.shape[0]):
        t[i] = 0.0
        for j in range(a.shape[1]):
            t[i] = t[i] + a[i, j] * x[j]
        for j in range(a.shape[1]):
            y[j] = y[j] + a[i, j] * t[i]


def bicg(a, s, q, p, r):
    for i in range(a.shape[1]):
        s[i] = 0.0
    for i in range(a.shape[0]):
        q[i] = 0.0
        for j in range(a.shape[1]):
            s[j] = s[j] + r[i] * a[i, j]
            q[i] = q[i] + a[i, j] * p[j]


def mvt(x1, x2, y1, y2, a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x1[i] = x1[i] + a[i, j] * y1[j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x2[i] = x2[i] + a[j, i] * y2[j]


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * a[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * a[i, j] * x[j]


def gesummv(alpha, beta, a, b, t, x, y):
    for i in range(a.shape[0]):
        t[i] = 0.0
        y[i] = 0.0
        for j in range(a.shape[1]):
            t[i] = a[i, j] * x[j] + t[i]
            y[i] = b[i, j] * x[j] + y[i]
        y[i] = alpha * t[i] + beta * y[i]


def syrk(alpha, beta, c, a):
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]


def syr2k(alpha, beta, c, a, b):
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]


def trmm(alpha, a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(i + 1, b.shape[0]):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = alpha * b[i, j]


def symm(alpha, beta, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t = 0.0
            for k in range(i):
                c[k, j] += alpha * b[i, j] * a[i, k]
                t += b[k, j] * a[i, k]
            c[i, j] = beta * c[i, j] + alpha * b[i, j] * a[i, i] + alpha * t


def doitgen(a, c4, s):
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            for p in range(a.shape[2]):
                s[p] = 0.0
                for k in range(a.shape[2]):
                    s[p] += a[r, q, k] * c4[k, p]
            for p in range(a.shape[2]):
                a[r, q, p] = s[p]


def jacobi_1d(steps, a, b):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


def jacobi_2d(steps, a, b):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


def heat_3d(steps, a, b):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    x = 0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                    y = 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                    z = 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                    b[i, j, k] = x + y + z + a[i, j, k]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    x = 0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                    y = 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                    z = 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                    a[i, j, k] = x + y + z + b[i, j, k]


def seidel_2d(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0


def fdtd_2d(ex, ey, hz, fict):
    for t in range(fict.shape[0]):
        for j in range(ex.shape[1]):
            ey[0, j] = fict[t]
        for i in range(1, ex.shape[0]):
            for j in range(ex.shape[1]):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(ex.shape[0]):
            for j in range(1, ex.shape[1]):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(ex.shape[0] - 1):
            for j in range(ex.shape[1] - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def adi(steps, u, v, p, q, d):
    n = u.shape[0]
    b = 1.0 + 2.0 * d
    for _ in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = 1.0
            for j in range(1, n - 1):
                p[i, j] = d / (b - d * p[i, j - 1])
                right = d * u[j, i - 1] + (1.0 - 2.0 * d) * u[j, i] + d * u[j, i + 1]
                q[i, j] = (right + d * q[i, j - 1]) / (b - d * p[i, j - 1])
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = 1.0
            for j in range(1, n - 1):
                p[i, j] = d / (b - d * p[i, j - 1])
                right = d * v[i - 1, j] + (1.0 - 2.0 * d) * v[i, j] + d * v[i + 1, j]
                q[i, j] = (right + d * q[i, j - 1]) / (b - d * p[i, j - 1])
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def covariance(data, cov, mean):
    n, m = data.shape
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]


def correlation(data, corr, mean, deviation):
    n, m = data.shape
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        deviation[j] = 0.0
        for i in range(n):
            deviation[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        deviation[j] = math.sqrt(deviation[j] / n)
        if deviation[j] <= 0.1:
            deviation[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= math.sqrt(n) * deviation[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0


def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


def cholesky(a):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])


def trisolv(lower, x, b):
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] = x[i] / lower[i, i]


def durbin(r, y, z):
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, r.shape[0]):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def gramschmidt(a, r, q):
    m, n = a.shape
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(norm)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = 0.0
            for i in range(m):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(m):
                a[i, j] = a[i, j] - q[i, k] * r[k, j]


def floyd_warshall(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def nussinov(sequence, table):
    n = sequence.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
                if i < j - 1:
                    match = 1 if sequence[i] + sequence[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def deriche(image, out, first, second, a1, a2, b1, b2):
    w, h = image.shape
    for i in range(w):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        for j in range(h):
            first[i, j] = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            x1 = image[i, j]
            y2 = y1
            y1 = first[i, j]
    for i in range(w):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        x2 = 0.0
        for j in range(h - 1, -1, -1):
            second[i, j] = a1 * x1 + a2 * x2 + b1 * y1 + b2 * y2
            x2 = x1
            x1 = image[i, j]
            y2 = y1
            y1 = second[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = first[i, j] + second[i, j]
    for j in range(h):
        x1 = 0.0
        y1 = 0.0
        y2 = 0.0
        for i in range(w):
            first[i, j] = a1 * out[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            x1 = out[i, j]
            y2 = y1
            y1 = first[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = first[i, j] + second[i, j]


def _definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


def _squares(n: int, count: int) -> Arguments:
    return lambda rng: tuple(rng.random((count, n, n)))


def _with(scalars: tuple[float, ...], *shapes: tuple[int, ...]) -> Arguments:
    return lambda rng: (*scalars, *(rng.random(shape) for shape in shapes))


def _nussinov(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.integers(0, 4, 500).astype(np.int32), np.zeros((500, 500), np.int32)


NESTS: dict[str, tuple[Callable[..., Any], Arguments]] = {
    "2mm": (two_products, _with((1.5, 1.2), (400, 400), (400, 300), (300, 400), (400, 350), (400, 350))),
    "adi": (adi, lambda rng: (4, rng.random((600, 600)), *np.zeros((3, 600, 600)), 0.3)),
    "atax": (atax, _with((), (1900, 2100), (2100,), (2100,), (1900,))),
    "bicg": (bicg, _with((), (2100, 1900), (1900,), (2100,), (1900,), (2100,))),
    "cholesky": (cholesky, lambda rng: (_definite(rng, 600),)),
    "correlation": (correlation, _with((), (400, 360), (360, 360), (360,), (360,))),
    "covariance": (covariance, _with((), (400, 360), (360, 360), (360,))),
    "deriche": (deriche, lambda rng: (*rng.random((4, 1000, 700)), 0.2, 0.1, 0.6, -0.1)),
    "doitgen": (doitgen, _with((), (50, 40, 120), (120, 120), (120,))),
    "durbin": (durbin, lambda rng: (rng.random(2000) / 4000, *np.zeros((2, 2000)))),
    "fdtd-2d": (fdtd_2d, _with((), *((600, 700),) * 3, (20,))),
    "floyd-warshall": (floyd_warshall, _squares(400, 1)),
    "gemm": (gemm, _with((1.5, 1.2), (500, 550), (500, 600), (600, 550))),
    "gemver": (gemver, _with((1.5, 1.2), (1500, 1500), *((1500,),) * 8)),
    "gesummv": (gesummv, _with((1.5, 1.2), (1300, 1300), (1300, 1300), *((1300,),) * 3)),
    "gramschmidt": (gramschmidt, _with((), (300, 360), (360, 360), (300, 360))),
    "heat-3d": (heat_3d, lambda rng: (10, *rng.random((2, 100, 100, 100)))),
    "jacobi-1d": (jacobi_1d, lambda rng: (500, *rng.random((2, 2000)))),
    "jacobi-2d": (jacobi_2d, lambda rng: (20, *rng.random((2, 700, 700)))),
    "lu": (lu, lambda rng: (_definite(rng, 500),)),
    "mvt": (mvt, _with((), *((2000,),) * 4, (2000, 2000))),
    "nussinov": (nussinov, _nussinov),
    "seidel-2d": (seidel_2d, lambda rng: (10, rng.random((600, 600)))),
    "symm": (symm, _with((1.5, 1.2), *((400, 400),) * 3)),
    "syr2k": (syr2k, _with((1.5, 1.2), (400, 400), (400, 350), (400, 350))),
    "syrk": (syrk, _with((1.5, 1.2), (500, 500), (500, 400))),
    "trisolv": (
        trisolv,
        lambda rng: (rng.random((2000, 2000)) / 2000 + np.eye(2000), *rng.random((2, 2000))),
    ),
    "trmm": (trmm, _with((1.5,), (400, 400), (400, 480))),
}
"""Functions and what makes their arguments, by the names that the kernels have in PolyBench."""
