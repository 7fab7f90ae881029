"""The builtin functions of OpenCL C: sources in OpenCL C, and what copies into a program those that it calls.

`link` is the door. `base.h` is what each program sees before its first line; clang declares the functions.
"""

from pathlib import Path

from weft.frontend.opencl.library.linking import LinkOptions, link

BASE_HEADER = Path(__file__).with_name("base.h")
"""The header to include before a program."""

__all__ = ["BASE_HEADER", "LinkOptions", "link"]
