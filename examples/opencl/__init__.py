"""The nine applications of Karrenberg and Hack's Table 1 in OpenCL C, each checked against NumPy.

``python -m examples.opencl`` runs all, ``python -m examples.opencl nbody --scale 0.1`` one at a tenth of the paper's
size.
"""
