"""Calls: of the program, of libraries, of intrinsics."""
