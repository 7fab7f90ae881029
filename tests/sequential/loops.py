"""Loops in Python and their verdicts, each behind "#:" on the line of the loop."""

import math

SIGNATURES: dict[str, str] = {
    "saxpy": "void(float32, float32[::1], float32[::1])",
    "smooth": "void(float64[::1], float64[::1])",
    "matrix": "void(float64[:,::1], float64[:,::1])",
    "product": "void(float64[:,::1], float64[:,::1], float64[:,::1])",
    "rows": "void(float64[:,::1], float64[::1])",
    "strided": "void(float64[:,:], int64)",
    "total": "float64(float64[::1])",
    "least": "float64(float64[::1])",
    "running": "void(int64[::1], int64[::1])",
    "onward": "void(int64[::1])",
    "bins": "void(int64[::1], int64[::1])",
    "kept": "int64(int64[::1], int64[::1])",
    "first": "int64(int64[::1], int64)",
    "backwards": "void(int32[::1], int64)",
    "even": "void(int32[::1], int64)",
    "fibonacci": "void(int64[::1])",
    "collatz": "void(int64[::1], int64[::1])",
    "wave": "void(float64[::1], float64[::1], int64)",
    "steps": "void(float64[::1], int64, int64)",
    "mandelbrot": "void(int32[:,::1], int64)",
}


def saxpy(a, x, y):
    for i in range(x.size):  #: parallel
        y[i] += a * x[i]


def smooth(x, y):
    for i in range(1, x.size - 1):  #: parallel
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3


def matrix(a, b):
    for i in range(a.shape[0]):  #: parallel
        for j in range(a.shape[1]):  #: parallel
            b[i, j] = a[i, j] * 2


def product(a, b, c):
    for i in range(c.shape[0]):  #: parallel
        for j in range(c.shape[1]):  #: parallel
            s = 0.0
            for k in range(a.shape[1]):  #: reduction
                s += a[i, k] * b[k, j]
            c[i, j] = s


def rows(a, sums):
    for i in range(a.shape[0]):  #: parallel
        s = 0.0
        for j in range(a.shape[1]):  #: reduction
            s += a[i, j]
        sums[i] = s


def strided(a, n):
    for i in range(n):  #: sequential
        a[i // 2, 0] = i


def total(x):
    s = 0.0
    for i in range(x.size):  #: reduction
        s += math.sqrt(x[i])
    return s


def least(x):
    m = x[0]
    for i in range(x.size):  #: reduction
        m = min(m, x[i])
    return m


def running(x, y):
    s = 0
    for i in range(x.size):  #: scan
        s += x[i]
        y[i] = s


def onward(x):
    for i in range(1, x.size):  #: scan
        x[i] += x[i - 1]


def bins(x, h):
    for i in range(x.size):  #: histogram
        h[x[i]] += 1


def kept(x, out):
    k = 0
    for i in range(x.size):  #: compaction
        if x[i] > 0:
            out[k] = x[i]
            k += 1
    return k


def first(x, key):
    for i in range(x.size):  #: search
        if x[i] == key:
            return i
    return -1


def backwards(x, n):
    for i in range(n - 1, -1, -1):  #: parallel
        x[i] = i


def even(x, n):
    for i in range(0, n, 2):  #: parallel
        x[i] = x[i + 1]


def fibonacci(x):
    for i in range(2, x.size):  #: sequential
        x[i] = x[i - 1] + x[i - 2]


def collatz(numbers, steps):
    for i in range(numbers.size):  #: parallel
        n = numbers[i]
        count = 0
        while n > 1:  #: sequential
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        steps[i] = count


def wave(a, b, times):
    for _ in range(times):  #: sequential
        for i in range(1, a.size - 1):  #: parallel
            b[i] = a[i - 1] + a[i + 1]
        for i in range(1, a.size - 1):  #: parallel
            a[i] = b[i]


def steps(x, n, k):
    for i in range(n):  #: sequential
        x[i] = x[i + k]


def mandelbrot(image, limit):
    for row in range(image.shape[0]):  #: parallel
        for column in range(image.shape[1]):  #: parallel
            re = column / image.shape[1] * 3 - 2
            im = row / image.shape[0] * 2 - 1
            x = 0.0
            y = 0.0
            n = 0
            while x * x + y * y < 4 and n < limit:  #: sequential
                x, y = x * x - y * y + re, 2 * x * y + im
                n += 1
            image[row, column] = n
