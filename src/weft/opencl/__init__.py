"""OpenCL C on the CPU, from Python."""
