"""``weft opencl``: the driver that any OpenCL program loads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from weft.diag.errors import SettingError

SYSTEM_FOLDER = Path("/etc/OpenCL/vendors")
"""Where loaders of drivers look."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "opencl",
        help="the OpenCL driver: where it is, and telling loaders of it",
        description="Make weft's OpenCL driver, if it is not there yet, and let OpenCL programs find it.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    vendors = actions.add_parser(
        "vendors", help="print the folder for OCL_ICD_VENDORS: export OCL_ICD_VENDORS=$(weft opencl vendors)"
    )
    vendors.set_defaults(run=run_vendors)
    install = actions.add_parser("install", help="write the system's vendor file")
    install.add_argument(
        "--folder", type=Path, default=SYSTEM_FOLDER, help=f"where loaders look (default: {SYSTEM_FOLDER})"
    )
    install.set_defaults(run=run_install)


def run_vendors(options: argparse.Namespace) -> int:
    """Print the folder with a vendor file that names the driver."""
    from weft.opencl.driver_library import vendor_folder

    print(vendor_folder())
    return 0


def run_install(options: argparse.Namespace) -> int:
    """Write the vendor file.

    Raises
    ------
    SettingError
        The folder cannot be written to.
    """
    from weft.opencl.driver_library import driver_library

    file = options.folder / "weft.icd"
    library = driver_library()
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{library}\n")
    except OSError as error:
        raise SettingError(
            f"{file} cannot be written: {error.strerror}",
            hint="run it as root, or set OCL_ICD_VENDORS to what `weft opencl vendors` prints",
        ) from None
    print(file)
    return 0
