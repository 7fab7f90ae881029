"""The OpenCL driver as a shared library: made once by clang, and kept (`weft.device.host.library`)."""

from __future__ import annotations

from pathlib import Path

from weft.device.host.library import HostLibrary, sources_in, write_whole
from weft.frontend.device.primitives import SUB_GROUP_SIZE
from weft.frontend.opencl.features import DEVICE_EXTENSIONS, FEATURES, LOCAL_MEMORY_BYTES, MAX_GROUP
from weft.ir.intrinsics import SMALL_GRID
from weft.runtime.settings import cache_directory

SOURCES = Path(__file__).with_name("driver")
SHARED_HEADER = Path(__file__).parents[1] / "frontend" / "opencl" / "library" / "image_descriptor.h"
"""What the driver and the builtin library both read."""

API_EXTENSIONS = ("cl_khr_icd", "cl_khr_image2d_from_buffer")
"""Extensions that the driver has, and the language knows nothing of."""


def driver_library() -> Path:
    """The driver, which is made if it is not there yet; in the folder of the compile cache.

    Raises
    ------
    UnsupportedError
        There is no clang (``pip install weft[clang]``), or this is no Linux on x86-64.
    CompileError
        clang refuses the sources.
    """
    library = HostLibrary(
        "the OpenCL driver",
        "weft.opencl.compiler",
        (*sources_in(SOURCES), SHARED_HEADER),
        {"extension": (*API_EXTENSIONS, *DEVICE_EXTENSIONS), "feature": FEATURES},
        {
            "group_limit": MAX_GROUP,
            "local_bytes": LOCAL_MEMORY_BYTES,
            "small_grid": SMALL_GRID,
            "sub_group_size": SUB_GROUP_SIZE,
        },
    )
    library.require_platform()
    path = cache_directory() / "opencl" / f"libweft-opencl-{library.key()}.so"
    if not path.exists():
        library.build(path)
    return path


def vendor_folder() -> Path:
    """A folder for ``OCL_ICD_VENDORS`` with a file that names the driver."""
    library = driver_library()
    folder = library.parent / f"vendors-{library.stem.rsplit('-', 1)[1]}"
    folder.mkdir(exist_ok=True)
    write_whole(folder / "weft.icd", f"{library}\n".encode())
    return folder
