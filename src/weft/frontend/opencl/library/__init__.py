"""Builtin functions of OpenCL C, written in OpenCL C."""
