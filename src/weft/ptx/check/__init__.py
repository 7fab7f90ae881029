"""PTX's rules, checked: `check_module` raises at the first that a module breaks."""

from weft.ptx.check.module import check_module

__all__ = ["check_module"]
