"""Functions of `math`, NumPy and Python on the special values of every type, against NumPy and CPython.

One kernel for each type calls all functions, so that few are compiled; for some types its passes are checked, too, for
all with ``WEFT_FUZZ``. Where Python raises, C99's result is meant,
which is also NumPy's. Float results may be a few ulp off, but zeros have their sign and infinities are where they
should be. Of the zeros -0 is the lesser one to minima and maxima, whatever the order of operands.
"""

import importlib.util
import math
import os
import warnings

import numpy as np
import pytest
from scipy import special

from conformance.runner import passes_checked, ulp_distance
from weft import cuda

ULP = 4
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, np.float32, np.float64)
CHECKED = (np.bool_, np.uint8, np.int32, np.float32)
EVERY = bool(os.environ.get("WEFT_FUZZ"))


def special_values(dtype):
    """Return what functions of a type are likely to get wrong."""
    if dtype is np.bool_:
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        signed = [-1, -2, -3, -7, -100, info.min + 1] if info.min < 0 else []
        return np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, *signed], dtype)
    info = np.finfo(dtype)
    values = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        0.1,
        10.0,
        0.49999997,
        88.0,
        1000.0,
        2.0**23 + 0.5,
        2.0**52 + 0.5,
        math.inf,
    ]
    values += [float(v) for v in (info.max, info.tiny, info.smallest_subnormal, info.eps, 1 + info.eps)]
    with np.errstate(over="ignore"):
        half = np.array(values).astype(dtype)
    return np.concatenate([half, -half, np.array([math.nan], dtype)])


def _by(function):
    """A function of NumPy's in float64 where it is given integers, as the kernel language has it."""
    return lambda *operands: function(*(v if v.dtype.kind == "f" else v.astype(np.float64) for v in operands))


def _least(*operands):
    x, y = operands
    return np.where(
        (x == 0) & (y == 0) & np.signbit(x), x, np.where((x == 0) & (y == 0), y, np.minimum(x, y))
    )


def _greatest(x, y):
    return -_least(-x, -y)


def _fmin(x, y):
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, _least(x, y)))


def _python_min(x, y):
    return np.where(y < x, y, x)


def _clip(x, y):
    # Its bounds are given the wrong way round, too.
    return np.clip(x, y, x.dtype.type(1))


def _reciprocal(x):
    return np.where(abs(x.astype(object)) == 1, x, 0).astype(x.dtype)


def _each(names, parameters, wrap=lambda function: function):
    """Functions of NumPy's by how they are called."""
    return {f"np.{name}({parameters})": wrap(getattr(np, name)) for name in names.split()}


UNARY_FLOAT = {
    **_each("sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh", "x", _by),
    **_each("exp exp2 expm1 log log2 log10 log1p cbrt fabs degrees radians rint", "x", _by),
    "math.erf(x)": _by(special.erf),
    "math.erfc(x)": _by(special.erfc),
}
OF_FLOATS = {
    **_each("floor ceil trunc sign square reciprocal negative absolute round", "x"),
    "abs(x)": np.absolute,
    "math.modf(x)[0]": lambda x: np.modf(x)[0],
    "math.modf(x)[1]": lambda x: np.modf(x)[1],
    "math.frexp(x)[0]": lambda x: np.frexp(x)[0],
    "np.ldexp(x, -3)": lambda x: np.ldexp(x, -3),
}
OF_INTEGERS = {
    **_each("floor ceil trunc square negative absolute invert sign", "x"),
    "np.reciprocal(x)": _reciprocal,
    "abs(x)": np.absolute,
    "round(x)": lambda x: x,
}
PREDICATES = _each("isnan isinf isfinite signbit logical_not", "x")
BINARY_FLOAT = {
    **_each("arctan2 hypot copysign divide", "x, y", _by),
    "math.pow(x, y)": _by(np.power),
    "math.fmod(x, y)": _by(np.fmod),
    "math.remainder(x, y)": _by(
        np.vectorize(lambda x, y: math.remainder(x, y) if y and abs(x) < math.inf else math.nan * x * y)
    ),
}
BINARY_OF_FLOATS = {
    **_each("add subtract multiply fmod remainder floor_divide", "x, y"),
    "np.nextafter(x, y)": lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
    "np.minimum(x, y)": _least,
    "np.maximum(x, y)": _greatest,
    "np.fmin(x, y)": _fmin,
    "np.fmax(x, y)": lambda x, y: -_fmin(-x, -y),
    "min(x, y)": _python_min,
    "max(x, y)": lambda x, y: np.where(y > x, y, x),
    "np.clip(x, y, 1)": _clip,
    "np.where(x > y, x, y)": lambda x, y: np.where(x > y, x, y),
}
BINARY_OF_INTEGERS = {
    **_each("add subtract multiply fmod remainder floor_divide minimum maximum fmin fmax", "x, y"),
    **_each("bitwise_and bitwise_or bitwise_xor left_shift right_shift", "x, y"),
    "min(x, y)": np.minimum,
    "max(x, y)": np.maximum,
    "np.clip(x, y, 1)": _clip,
}
BINARY_PREDICATES = _each("equal not_equal less less_equal logical_and logical_or logical_xor", "x, y")


def _tables(dtype):
    """Per array of results its dtype and functions: of one argument, and of two."""
    if dtype is np.bool_:
        return [(np.float64, UNARY_FLOAT), (np.bool_, PREDICATES)], [(np.bool_, BINARY_PREDICATES)]
    if dtype in FLOATS:
        return (
            [(dtype, UNARY_FLOAT), (dtype, OF_FLOATS), (np.bool_, PREDICATES)],
            [(dtype, BINARY_FLOAT), (dtype, BINARY_OF_FLOATS), (np.bool_, BINARY_PREDICATES)],
        )
    unary = [(dtype, OF_INTEGERS), (np.bool_, PREDICATES)]
    binary = [(dtype, BINARY_OF_INTEGERS), (np.bool_, BINARY_PREDICATES)]
    # All integers become float64 in the same way.
    floating = dtype in (np.int8, np.uint64)
    return (
        [*unary, (np.float64, UNARY_FLOAT)] if floating else unary,
        [*binary, (np.float64, BINARY_FLOAT)] if floating else binary,
    )


def _kernel(path, tables):
    lines = ["import math", "import numpy as np", "from weft import cuda", ""]
    lines += [
        f"def kernel({', '.join(f'out{n}' for n in range(len(tables)))}, a, b):",
        "    i = cuda.grid(1)",
    ]
    lines += ["    if i < a.size:", "        x, y = a[i], b[i]"]
    for number, (_, functions) in enumerate(tables):
        lines += [f"        out{number}[{row}, i] = {text}" for row, text in enumerate(functions)]
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def _check(path, tables, operands, **options):
    x, y = operands[0], operands[-1]
    results = [np.zeros((len(functions), x.size), kind) for kind, functions in tables]
    cuda.jit(**options)(_kernel(path, tables)).forall(x.size)(*results, x, y)
    for (kind, functions), rows in zip(tables, results, strict=True):
        for (text, function), got in zip(functions.items(), rows, strict=True):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = np.asarray(function(*operands)).astype(kind)
            wrong = ulp_distance(got, wanted) > ULP if got.dtype.kind == "f" else got != wanted
            if wrong.any():
                at = int(np.argmax(wrong))
                arguments = ", ".join(repr(v[at]) for v in operands)
                raise AssertionError(f"{text} of {arguments} is {got[at]!r}, not {wanted[at]!r}")


@pytest.mark.parametrize("dtype", [np.bool_, *INTEGERS, *FLOATS])
def test_machine_code(dtype, tmp_path):
    unary, binary = _tables(dtype)
    x = special_values(dtype)
    with passes_checked(EVERY or dtype in CHECKED):
        _check(tmp_path / "unary.py", unary, (x,))
        _check(tmp_path / "binary.py", binary, tuple(v.ravel() for v in np.meshgrid(x, x)))


@pytest.mark.parametrize(
    "options", [{"width": 1}, {"width": 4}, {"debug": True}], ids=["scalar", "4", "interpreter"]
)
def test_other_ways_to_run(options, tmp_path):
    unary, binary = _tables(np.float32)
    x = special_values(np.float32)
    with passes_checked(EVERY):
        _check(tmp_path / "unary.py", unary, (x,), **options)
        _check(tmp_path / "binary.py", binary, tuple(v.ravel() for v in np.meshgrid(x, x)), **options)
