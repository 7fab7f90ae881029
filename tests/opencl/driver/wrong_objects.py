"""A host that calls all functions of the driver with wrong objects: null, released, of another kind or context.

Run with the driver's path, a seed and a number of random calls. Each function has one call that is right, of which
one object at a time is made wrong: the error must be the one that the standard names. Then calls whose arguments are
drawn at random must come back at all.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable
from typing import Any

P, ERROR_CODE, L = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
RETURNED = ctypes.c_int32()
MEMORY = ctypes.create_string_buffer(1 << 16)
HERE = ctypes.addressof(MEMORY)
WRONG = {
    "device": -33, "context": -34, "queue": -36, "buffer": -38, "image": -38, "sampler": -41, "program": -44,
    "kernel": -48, "event": -58, "user": -58, "waits": -57,
}  # fmt: skip
SOURCE = b"kernel void k(global int *x, int y, local int *z) { x[get_global_id(0)] = y; }"


class Driver:
    """The functions, by name, and objects to call them with."""

    def __init__(self, path: str) -> None:
        self._find = ctypes.CDLL(path).clGetExtensionFunctionAddress
        self._find.restype, self._find.argtypes = P, [ctypes.c_char_p]
        platforms, devices = (P * 1)(), (P * 1)()
        assert self("clGetPlatformIDs", "uint", 1, platforms, 0) == 0
        self.platform = platforms[0]
        assert self("clGetDeviceIDs", "uint", self.platform, 0xFFFFFFFF, 1, devices, 0) == 0
        self.device = devices[0]
        self.kept: list[Any] = []
        self.contexts = [self.new_context(), self.new_context()]
        self.programs = [self.built(c) for c in self.contexts]

    def __call__(self, name: str, result: str, *values: Any) -> int:
        address = self._find(name.encode())
        assert address, name
        kinds = [type(v) if not isinstance(v, int | type(None)) else L for v in values]
        function = ctypes.CFUNCTYPE(P if result == "pointer" else ERROR_CODE, *kinds)(address)
        return function(*(0 if v is None else v for v in values)) or 0

    def made(self, name: str, *values: Any) -> int:
        """The object that a function makes; it has to."""
        found = self(name, "pointer", *values, ctypes.addressof(RETURNED))
        assert found and RETURNED.value == 0, (name, RETURNED.value)
        return found

    def new_context(self) -> int:
        return self.made("clCreateContext", 0, 1, array(self.device), 0, 0)

    def built(self, context: int) -> int:
        text = ctypes.c_char_p(SOURCE)
        self.kept.append(text)
        program = self.made("clCreateProgramWithSource", context, 1, ctypes.addressof(text), 0)
        assert self("clBuildProgram", "error", program, 0, 0, 0, 0, 0) == 0
        return program

    def fresh(self, kind: str, place: int = 0) -> int:
        """A new object of a kind, in one of the two contexts."""
        context = self.contexts[place]
        makers: dict[str, Callable[[], int]] = {
            "platform": lambda: self.platform,
            "device": lambda: self.device,
            "context": self.new_context,
            "queue": lambda: self.made("clCreateCommandQueue", context, self.device, 0),
            "buffer": lambda: self.made("clCreateBuffer", context, 1, 4096, 0),
            "image": lambda: self.made(
                "clCreateImage2D", context, 1, array(0x10B5 | 0x10DA << 32), 4, 4, 0, 0
            ),
            "sampler": lambda: self.made("clCreateSampler", context, 1, 0x1131, 0x1140),
            "program": lambda: self.unbuilt(context),
            "kernel": lambda: self.kernel(place),
            "event": lambda: self.event(place),
            "waits": lambda: self.event(place),
            "user": lambda: self.made("clCreateUserEvent", context),
        }
        return makers[kind]()

    def unbuilt(self, context: int) -> int:
        text = ctypes.c_char_p(SOURCE)
        self.kept.append(text)
        return self.made("clCreateProgramWithSource", context, 1, ctypes.addressof(text), 0)

    def kernel(self, place: int) -> int:
        kernel = self.made("clCreateKernel", self.programs[place], ctypes.c_char_p(b"k"))
        target = array(self.fresh("buffer", place))
        assert self("clSetKernelArg", "error", kernel, 0, 8, target) == 0
        assert self("clSetKernelArg", "error", kernel, 1, 4, array(7)) == 0
        assert self("clSetKernelArg", "error", kernel, 2, 64, 0) == 0
        return kernel

    def event(self, place: int) -> int:
        found, queue = array(0), self.fresh("queue", place)
        assert self("clEnqueueMarker", "error", queue, found) == 0
        assert self("clReleaseCommandQueue", "error", queue) == 0
        return found[0]

    def released(self, kind: str) -> int:
        """What was an object of a kind."""
        names = {
            "queue": "CommandQueue",
            "buffer": "MemObject",
            "image": "MemObject",
            "user": "Event",
            "waits": "Event",
        }
        thing = self.fresh(kind)
        name = f"clRelease{names.get(kind, kind.capitalize())}"
        if kind == "event" or kind == "waits":
            assert self("clWaitForEvents", "error", 1, array(thing)) == 0
        assert self(name, "error", thing) == 0
        return thing


def array(*values: int) -> Any:
    """Eight bytes each, kept as long as the host runs."""
    made = (L * len(values))(*values)
    _KEPT.append(made)
    return made


_KEPT: list[Any] = []
ERROR, POINTER = "error", "pointer"

# Of each function: what it returns, and its arguments. A name of a kind stands for an object, `*kind` for an array with
# one, `waits` for an event to wait for; `here` is the host's memory, `error` where the error goes.
ONE = (1, "*waits", 0)
ORIGIN, REGION = ("zeros", "zeros"), "ones"
CALLS: dict[str, tuple[Any, ...]] = {
    "clGetDeviceInfo": (ERROR, "device", 0x1000, 8, "here", 0),
    "clRetainDevice": (ERROR, "device"), "clReleaseDevice": (ERROR, "device"),
    "clGetHostTimer": (ERROR, "device", "here"), "clGetDeviceAndHostTimer": (ERROR, "device", "here", "here"),
    "clCreateContext": (POINTER, 0, 1, "*device", 0, 0, "error"),
    "clRetainContext": (ERROR, "context"), "clReleaseContext": (ERROR, "context"),
    "clGetContextInfo": (ERROR, "context", 0x1080, 8, "here", 0),
    "clSetContextDestructorCallback": (ERROR, "context", "function", 0),
    "clCreateCommandQueue": (POINTER, "context", "device", 0, "error"),
    "clCreateCommandQueueWithProperties": (POINTER, "context", "device", 0, "error"),
    "clRetainCommandQueue": (ERROR, "queue"), "clReleaseCommandQueue": (ERROR, "queue"),
    "clGetCommandQueueInfo": (ERROR, "queue", 0x1090, 8, "here", 0),
    "clSetCommandQueueProperty": (ERROR, "queue", 2, 1, 0),
    "clFlush": (ERROR, "queue"), "clFinish": (ERROR, "queue"),
    "clCreateBuffer": (POINTER, "context", 1, 64, 0, "error"),
    "clCreateBufferWithProperties": (POINTER, "context", 0, 1, 64, 0, "error"),
    "clCreateSubBuffer": (POINTER, "buffer", 0, 0x1220, "region", "error"),
    "clCreateImage2D": (POINTER, "context", 1, "format", 4, 4, 0, 0, "error"),
    "clCreateImage3D": (POINTER, "context", 1, "format", 4, 4, 4, 0, 0, 0, "error"),
    "clGetSupportedImageFormats": (ERROR, "context", 1, 0x10F1, 0, 0, "here"),
    "clRetainMemObject": (ERROR, "buffer"), "clReleaseMemObject": (ERROR, "buffer"),
    "clGetMemObjectInfo": (ERROR, "buffer", 0x1100, 8, "here", 0),
    "clGetImageInfo": (ERROR, "image", 0x1111, 8, "here", 0),
    "clSetMemObjectDestructorCallback": (ERROR, "buffer", "function", 0),
    "clCreateSampler": (POINTER, "context", 1, 0x1131, 0x1140, "error"),
    "clCreateSamplerWithProperties": (POINTER, "context", 0, "error"),
    "clRetainSampler": (ERROR, "sampler"), "clReleaseSampler": (ERROR, "sampler"),
    "clGetSamplerInfo": (ERROR, "sampler", 0x1150, 8, "here", 0),
    "clCreateProgramWithSource": (POINTER, "context", 1, "text", 0, "error"),
    "clRetainProgram": (ERROR, "program"), "clReleaseProgram": (ERROR, "program"),
    "clGetProgramInfo": (ERROR, "program", 0x1160, 8, "here", 0),
    "clGetProgramBuildInfo": (ERROR, "program", "device", 0x1181, 8, "here", 0),
    "clRetainKernel": (ERROR, "kernel"), "clReleaseKernel": (ERROR, "kernel"),
    "clCloneKernel": (POINTER, "kernel", "error"),
    "clSetKernelArg": (ERROR, "kernel", 0, 8, "*buffer"),
    "clSetKernelArgSVMPointer": (ERROR, "kernel", 0, "here"),
    "clSetKernelExecInfo": (ERROR, "kernel", 0x11B6, 8, "here"),
    "clGetKernelInfo": (ERROR, "kernel", 0x1191, 8, "here", 0),
    "clGetKernelArgInfo": (ERROR, "kernel", 0, 0x1196, 8, "here", 0),
    "clGetKernelWorkGroupInfo": (ERROR, "kernel", "device", 0x11B0, 8, "here", 0),
    "clGetKernelSubGroupInfo": (ERROR, "kernel", "device", 0x2033, 8, "ones", 8, "here", 0),
    "clWaitForEvents": (ERROR, 1, "*event"),
    "clRetainEvent": (ERROR, "event"), "clReleaseEvent": (ERROR, "event"),
    "clGetEventInfo": (ERROR, "event", 0x11D1, 8, "here", 0),
    "clCreateUserEvent": (POINTER, "context", "error"),
    "clSetUserEventStatus": (ERROR, "user", 0),
    "clSetEventCallback": (ERROR, "event", 0, "function", 0),
    "clEnqueueReadBuffer": (ERROR, "queue", "buffer", 1, 0, 64, "here", *ONE),
    "clEnqueueWriteBuffer": (ERROR, "queue", "buffer", 1, 0, 64, "here", *ONE),
    "clEnqueueReadBufferRect": (ERROR, "queue", "buffer", 1, *ORIGIN, REGION, 0, 0, 0, 0, "here", *ONE),
    "clEnqueueWriteBufferRect": (ERROR, "queue", "buffer", 1, *ORIGIN, REGION, 0, 0, 0, 0, "here", *ONE),
    "clEnqueueCopyBuffer": (ERROR, "queue", "buffer", "buffer", 0, 0, 64, *ONE),
    "clEnqueueCopyBufferRect": (ERROR, "queue", "buffer", "buffer", *ORIGIN, REGION, 0, 0, 0, 0, *ONE),
    "clEnqueueFillBuffer": (ERROR, "queue", "buffer", "here", 4, 0, 64, *ONE),
    "clEnqueueFillImage": (ERROR, "queue", "image", "here", "zeros", REGION, *ONE),
    "clEnqueueReadImage": (ERROR, "queue", "image", 1, "zeros", REGION, 0, 0, "here", *ONE),
    "clEnqueueWriteImage": (ERROR, "queue", "image", 1, "zeros", REGION, 0, 0, "here", *ONE),
    "clEnqueueCopyImage": (ERROR, "queue", "image", "image", *ORIGIN, REGION, *ONE),
    "clEnqueueCopyImageToBuffer": (ERROR, "queue", "image", "buffer", "zeros", REGION, 0, *ONE),
    "clEnqueueCopyBufferToImage": (ERROR, "queue", "buffer", "image", 0, "zeros", REGION, *ONE),
    "clEnqueueMapBuffer": (POINTER, "queue", "buffer", 1, 1, 0, 64, *ONE, "error"),
    "clEnqueueMapImage": (POINTER, "queue", "image", 1, 1, "zeros", REGION, "here", "here", *ONE, "error"),
    "clEnqueueMigrateMemObjects": (ERROR, "queue", 1, "*buffer", 1, *ONE),
    "clEnqueueNDRangeKernel": (ERROR, "queue", "kernel", 1, 0, "ones", 0, *ONE),
    "clEnqueueTask": (ERROR, "queue", "kernel", *ONE),
    "clEnqueueNativeKernel": (ERROR, "queue", "function", 0, 0, 0, 0, 0, *ONE),
    "clEnqueueMarkerWithWaitList": (ERROR, "queue", *ONE),
    "clEnqueueBarrierWithWaitList": (ERROR, "queue", *ONE),
    "clEnqueueMarker": (ERROR, "queue", "here"), "clEnqueueBarrier": (ERROR, "queue"),
    "clEnqueueWaitForEvents": (ERROR, "queue", 1, "*event"),
    "clEnqueueSVMMemcpy": (ERROR, "queue", 1, "here", "there", 64, *ONE),
    "clEnqueueSVMMemFill": (ERROR, "queue", "here", "there", 4, 64, *ONE),
    "clEnqueueSVMFree": (ERROR, "queue", 0, 0, 0, 0, *ONE),
    "clEnqueueSVMMap": (ERROR, "queue", 1, 1, "here", 64, *ONE),
    "clEnqueueSVMUnmap": (ERROR, "queue", "here", *ONE),
}  # fmt: skip
IN_HOST_MEMORY = (("clEnqueueReadBufferRect", 4), ("clEnqueueWriteBufferRect", 4))
"""Origins in the host's memory, whose end the driver does not know."""

CALLED = ctypes.CFUNCTYPE(None)(lambda: None)
TEXT = ctypes.c_char_p(SOURCE)
SCALARS = {
    "here": HERE, "there": HERE + 4096, "error": ctypes.addressof(RETURNED), "zeros": array(0, 0, 0), "text": TEXT,
    "ones": array(1, 1, 1), "region": array(0, 64), "format": array(0x10B5 | 0x10DA << 32), "function": CALLED,
}  # fmt: skip


def kind_of(parameter: Any) -> str | None:
    """The kind of object that a parameter takes."""
    name = parameter.lstrip("*") if isinstance(parameter, str) else ""
    return name if name in WRONG else None


def passed(parameter: Any, thing: int) -> Any:
    """An object as its parameter takes it."""
    return array(thing) if parameter.startswith("*") else thing


def right(driver: Driver, parameters: tuple[Any, ...]) -> list[Any]:
    """Arguments that are as they should be."""
    values: list[Any] = []
    for parameter in parameters:
        kind = kind_of(parameter)
        if kind is not None:
            values.append(passed(parameter, driver.fresh(kind)))
        else:
            values.append(SCALARS[parameter] if isinstance(parameter, str) else parameter)
    return [ctypes.addressof(v) if v is TEXT else v for v in values]


def called(driver: Driver, name: str, values: list[Any]) -> int:
    """The error of a call."""
    result = CALLS[name][0]
    RETURNED.value = 0
    found = driver(name, result, *values)
    return RETURNED.value if result == POINTER else found


def check_one_by_one(driver: Driver) -> int:
    """Each object of each call, wrong in each way; how many calls that were."""
    count = 0
    for name, (_, *parameters) in CALLS.items():
        status = called(driver, name, right(driver, tuple(parameters)))
        assert status == 0, (name, status)
        for place, parameter in enumerate(parameters):
            kind = kind_of(parameter)
            if kind is None:
                continue
            ways = {"null": 0, "another kind": driver.fresh("context" if kind == "sampler" else "sampler")}
            if kind != "device":
                ways["released"] = driver.released(kind)
            for way, thing in ways.items():
                if (way, name, kind) == ("null", "clGetKernelWorkGroupInfo", "device"):
                    continue
                values = right(driver, tuple(parameters))
                if (way, name, kind) in (
                    ("null", "clGetKernelSubGroupInfo", "device"),
                    ("null", "clSetKernelArg", "buffer"),
                ):
                    expected = 0
                else:
                    expected = WRONG[kind]
                values[place] = passed(parameter, thing)
                status = called(driver, name, values)
                assert status == expected, (name, place, kind, way, status, expected)
                count += 1
            if name.startswith("clEnqueue") and kind != "queue":
                values = right(driver, tuple(parameters))
                values[place] = passed(parameter, driver.fresh(kind, 1))
                status = called(driver, name, values)
                assert status == -34, (name, place, kind, "of another context", status)
                count += 1
    return count


def random_calls(driver: Driver, seed: int, count: int) -> None:
    """Calls with any objects and numbers; pointers lead to memory, or nowhere at all."""
    draw = random.Random(seed)
    names = [n for n in CALLS if n not in ("clSetEventCallback", "clWaitForEvents", "clEnqueueWaitForEvents")]
    numbers = (0, 1, 2, 3, 4, 63, 64, 4096, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 4096)
    for _ in range(count):
        name = draw.choice(names)
        parameters = CALLS[name][1:]
        values = right(driver, tuple(parameters))
        for place in range(len(values)):
            if draw.random() < 0.7:
                continue
            parameter, kind = parameters[place], kind_of(parameters[place])
            if kind is not None:
                other = draw.choice([k for k in WRONG if k not in ("user", "waits")])
                thing = draw.choice([0, driver.fresh(other), driver.fresh(kind, draw.randrange(2))])
                values[place] = passed(parameter, thing)
            elif isinstance(parameter, int):
                if not (name.endswith("Rect") or "Image" in name) or place < 3:
                    values[place] = draw.choice(numbers) if bounded(name, place) else parameter
            elif (name, place) in IN_HOST_MEMORY:
                continue
            elif parameter == "zeros" or parameter == "ones":
                values[place] = array(*(draw.choice(numbers) for _ in range(3)))
            elif parameter not in ("error", "text"):
                values[place] = draw.choice([0, values[place]])
        status = called(driver, name, values)
        assert -80 <= status <= 0, (name, values, status)


def bounded(name: str, place: int) -> bool:
    """Whether a number says nothing of how much of the host's memory is there."""
    lists = {
        "clEnqueueMigrateMemObjects": (1,),
        "clCreateContext": (0, 1, 3, 4),
        "clCreateProgramWithSource": (1, 3),
    }
    host = {"clEnqueueReadBuffer": (), "clEnqueueWriteBuffer": ()}
    if name in host:
        return place in (2, 3)
    if place in lists.get(name, ()) or "SVM" in name or name.startswith(("clGet", "clSet", "clCreate")):
        return name.startswith("clCreateBuffer") and place == 2
    return not name.endswith(("WithWaitList", "Task", "NativeKernel")) and place not in events_of(name)


def events_of(name: str) -> tuple[int, ...]:
    """Where the list of events is, and other pointers that are null when all is right."""
    parameters = CALLS[name][1:]
    at = [k for k, p in enumerate(parameters) if p == "*waits"]
    nulls = {"clEnqueueNDRangeKernel": (3, 5), "clSetCommandQueueProperty": (3,)}.get(name, ())
    return (*((at[0] - 1, at[0] + 1) if at else ()), *nulls)


def main() -> None:
    """Check, and say how many calls there were."""
    driver = Driver(sys.argv[1])
    print(check_one_by_one(driver), flush=True)
    random_calls(driver, int(sys.argv[2]), int(sys.argv[3]))
    print("done")


if __name__ == "__main__":
    main()
