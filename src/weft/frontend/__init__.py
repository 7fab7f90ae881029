"""Front ends: from a source language to P-LLVM."""
