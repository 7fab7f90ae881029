"""Images and samplers of OpenCL C on arrays in memory, as kernels find them.

A kernel gets the address of a descriptor for an image, and bits for a sampler: ``image_descriptor.h`` of the builtin
library (`weft.frontend.opencl.library`) says which.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.diag.call_site import located
from weft.diag.errors import ArgumentError
from weft.runtime.array_memory import data_pointer

_COLORS = {
    "R": (0,), "A": (3,), "RG": (0, 1), "RA": (0, 3), "RGBA": (0, 1, 2, 3), "BGRA": (2, 1, 0, 3), "ARGB": (3, 0, 1, 2),
    "INTENSITY": (0,), "LUMINANCE": (0,), "DEPTH": (0,), "sRGBA": (0, 1, 2, 3), "sBGRA": (2, 1, 0, 3),
    "ABGR": (3, 2, 1, 0),
}  # fmt: skip
"""Which of red, green, blue and alpha each channel of a pixel is."""

_CHANNELS = {order: len(colors) for order, colors in _COLORS.items()}
_REPEATED = {"INTENSITY": 0x0000, "LUMINANCE": 0x5000}
"""What one channel is all colours of."""

_ORDERS = {
    "R": 0x10B0, "A": 0x10B1, "RG": 0x10B2, "RA": 0x10B3, "RGBA": 0x10B5, "BGRA": 0x10B6, "ARGB": 0x10B7,
    "INTENSITY": 0x10B8, "LUMINANCE": 0x10B9, "DEPTH": 0x10BD, "sRGBA": 0x10C1, "sBGRA": 0x10C2, "ABGR": 0x10C3,
}  # fmt: skip
"""``CL_R`` and its like."""

_TYPES = {
    ("i1", True): 0x10D0, ("i2", True): 0x10D1, ("u1", True): 0x10D2, ("u2", True): 0x10D3,
    ("i1", False): 0x10D7, ("i2", False): 0x10D8, ("i4", False): 0x10D9, ("u1", False): 0x10DA,
    ("u2", False): 0x10DB, ("u4", False): 0x10DC, ("f2", False): 0x10DD, ("f4", False): 0x10DE,
}  # fmt: skip
"""``CL_SNORM_INT8`` and its like, by elements and whether they stand for numbers from -1 or 0 to 1."""

_FILTERED = {
    ("i1", True),
    ("u1", True),
    ("i2", True),
    ("u2", True),
    ("f2", False),
    ("f4", False),
}
_ALLOWED = {
    "INTENSITY": _FILTERED,
    "LUMINANCE": _FILTERED,
    "BGRA": {key for key in _TYPES if key[0][1] == "1"},
    "ARGB": {key for key in _TYPES if key[0][1] == "1"},
    "ABGR": {key for key in _TYPES if key[0][1] == "1"},
    "sRGBA": {("u1", True)},
    "sBGRA": {("u1", True)},
    "DEPTH": {("u2", True), ("f4", False)},
}
"""What channels may be where not everything goes (OpenCL API 3.0, table of image channel orders)."""

_DESCRIPTOR = np.dtype(
    [
        ("pixels", "u8"), ("row_pitch", "i8"), ("slice_pitch", "i8"), ("width", "i4"), ("height", "i4"),
        ("depth", "i4"), ("layers", "i4"), ("order", "u4"), ("type", "u4"), ("pixel_bytes", "i4"),
        ("channels", "i4"), ("read_order", "u4"), ("stored_order", "u4"),
    ]
)  # fmt: skip

_AXES = {
    "image1d_t": ("width",),
    "image1d_buffer_t": ("width",),
    "image1d_array_t": ("layers", "width"),
    "image2d_t": ("height", "width"),
    "image2d_depth_t": ("height", "width"),
    "image2d_array_t": ("layers", "height", "width"),
    "image2d_array_depth_t": ("layers", "height", "width"),
    "image3d_t": ("depth", "height", "width"),
}
"""What the axes of an array are to a kernel's parameter, channels left out."""

_NAMES = {"height": "rows", "width": "columns", "depth": "slices"}
_ADDRESSING = {"none": 0, "clamp_to_edge": 2, "clamp": 4, "repeat": 6, "mirrored_repeat": 8}
_FILTERS = {"nearest": 16, "linear": 32}


def _color_orders(order: str) -> tuple[int, int]:
    """Where colours are in memory, and which is stored where, as the descriptor has it."""
    colors = _COLORS[order]
    stored = sum(color << 4 * k for k, color in enumerate(colors))
    missing = (4, 4, 4, 5)
    places = [colors.index(color) if color in colors else missing[color] for color in range(4)]
    return _REPEATED.get(order, sum(place << 4 * k for k, place in enumerate(places))), stored


class Image:
    """An array as an image, in place.

    Parameters
    ----------
    array
        Shape (..., rows, columns), and a last axis of channels where `order` has more than one. Elements are float32,
        float16, or integers of 8, 16 or 32 bits. The kernel's parameter says what further axes are: slices
        (``image3d_t``) or layers (``image2d_array_t``, ``image1d_array_t``).
    order
        The channels: ``"R"``, ``"A"``, ``"RG"``, ``"RA"``, ``"RGBA"``, ``"BGRA"``, ``"ARGB"``, ``"ABGR"``,
        ``"INTENSITY"``, ``"LUMINANCE"``, ``"DEPTH"``, ``"sRGBA"``, ``"sBGRA"``.
    normalized
        Whether integers of 8 and 16 bits stand for numbers from 0, signed ones from -1, to 1 (``CL_UNORM_INT8`` and its
        like, which ``read_imagef`` reads).

    Raises
    ------
    ArgumentError
        The order is unknown, the array is not C-contiguous, or its elements are none of an image of that order.
    """

    __slots__ = ("array", "normalized", "order")

    @located
    def __init__(self, array: Any, order: str = "R", *, normalized: bool = False) -> None:
        self.array: np.ndarray[Any, Any] = np.asarray(array)
        self.order, self.normalized = order, normalized
        if order not in _CHANNELS:
            raise ArgumentError(f"an image of {order!r}", hint=f"there are {', '.join(_CHANNELS)}")
        channels = _CHANNELS[order]
        if channels > 1 and (self.array.ndim < 2 or self.array.shape[-1] != channels):
            raise ArgumentError(
                f"an image of {order} on an array of shape {self.array.shape}",
                hint=f"its last axis has the {channels} channels",
            )
        if not self.array.flags.c_contiguous or not self.array.size:
            raise ArgumentError(
                "an image on an array that is empty or not C-contiguous",
                hint="pass np.ascontiguousarray(...)",
            )
        key = (self.array.dtype.str[1:], normalized)
        if key not in _ALLOWED.get(order, _TYPES):
            listed = ", ".join(
                sorted({np.dtype(code).name for code, n in _ALLOWED.get(order, _TYPES) if n == normalized})
            )
            raise ArgumentError(
                f"an image of {order} on an array of {self.array.dtype}",
                hint=f"{'normalized' if normalized else 'as they are'}, its elements may be {listed or 'none'}",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array, channels left out."""
        return self.array.shape[:-1] if _CHANNELS[self.order] > 1 else self.array.shape

    def described(self, type_name: str) -> np.ndarray[Any, Any]:
        """The descriptor for a kernel's parameter of a type, whose axes the image has."""
        axes = dict(zip(_AXES[type_name], self.shape, strict=True))
        pixel_bytes = self.array.dtype.itemsize * _CHANNELS[self.order]
        row = axes["width"] * pixel_bytes
        memory = np.zeros(1, _DESCRIPTOR)
        memory[0] = (
            data_pointer(self.array), row, row * axes.get("height", 1) if len(axes) == 3 or "layers" in axes else 0,
            axes["width"], axes.get("height", 1), axes.get("depth", 1), axes.get("layers", 0),
            _ORDERS[self.order], _TYPES[self.array.dtype.str[1:], self.normalized], pixel_bytes,
            _CHANNELS[self.order], *_color_orders(self.order),
        )  # fmt: skip
        return memory

    def misfit(self, type_name: str, access: str) -> tuple[str, str] | None:
        """Why the image cannot be the argument for a parameter of a type, and what to do; None if it can."""
        axes = _AXES[type_name]
        if len(axes) != len(self.shape):
            named = ", ".join(_NAMES.get(axis) or axis for axis in axes)
            return f"it is a {type_name}, and the image has the shape {self.shape}", f"its axes are {named}"
        if ("depth_t" in type_name) != (self.order == "DEPTH"):
            return f"it is a {type_name}, and the image one of {self.order}", "DEPTH is for depth images"
        if access != "read_only" and (not self.array.flags.writeable or self.order in ("sRGBA", "sBGRA")):
            return (
                f"it is {access}, and the image cannot be written",
                "pass one of another order, on an array that is not read-only",
            )
        return None

    def __repr__(self) -> str:
        return f"<weft OpenCL image {self.shape} of {self.order}, {self.array.dtype}>"


class Sampler:
    """How images are read: what coordinates mean, what is read beyond the edge and between pixels.

    Parameters
    ----------
    normalized
        Whether coordinates go from 0 to 1, and not from 0 to the number of pixels.
    addressing
        ``"none"``, ``"clamp_to_edge"``, ``"clamp"`` (the border's colour), ``"repeat"``, ``"mirrored_repeat"``.
    filter
        ``"nearest"`` or ``"linear"``.

    Raises
    ------
    ArgumentError
        There is no such mode, or repeated images were asked for without normalized coordinates.
    """

    __slots__ = ("bits",)

    @located
    def __init__(
        self, normalized: bool = False, addressing: str = "clamp_to_edge", filter: str = "nearest"
    ) -> None:
        if addressing not in _ADDRESSING or filter not in _FILTERS:
            raise ArgumentError(
                f"a sampler with addressing {addressing!r} and filter {filter!r}",
                hint=f"there are {', '.join(_ADDRESSING)}; {', '.join(_FILTERS)}",
            )
        if "repeat" in addressing and not normalized:
            raise ArgumentError(
                f"a sampler with addressing {addressing!r} and coordinates in pixels", hint="normalized=True"
            )
        self.bits = int(normalized) | _ADDRESSING[addressing] | _FILTERS[filter]

    def __repr__(self) -> str:
        return f"<weft OpenCL sampler {self.bits:#x}>"
