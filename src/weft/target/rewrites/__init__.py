"""LLVM's text rewritten, before its pipeline or behind it, where LLVM makes slow code of what it is given."""
