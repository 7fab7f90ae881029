"""The table of instructions: what may be written, what it does, and since when it is there."""

from weft.ptx.instructions.forms import Effect
from weft.ptx.instructions.table import OPCODES, Variant, variant_of, variants_of

__all__ = ["OPCODES", "Effect", "Variant", "variant_of", "variants_of"]
