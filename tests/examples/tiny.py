"""Sizes of the examples at which the interpreter can run them: several groups and a part of one."""

WORKGROUPS = {
    "reduction": 3000,
    "scan": 600,
    "matrix_product": 20,
    "transpose": 40,
    "convolution": 20,
    "dct": 16,
    "bitonic_sort": 1024,
    "histogram": 900,
    "nbody": 20,
    "radix_sort": 300,
    "spmv": 30,
    "bfs": 200,
    "kmeans": 300,
    "smith_waterman": 2,
    "walsh": 512,
    "floyd_warshall": 20,
}
IRREGULAR = {
    "mandelbrot": 9,
    "collatz": 20,
    "binary_search": 40,
    "binary_tree": 20,
    "kd_tree": 20,
    "barnes_hut": 40,
    "ambient_occlusion": 6,
    "cross_sections": 20,
    "nab_cascade": 20,
    "barrier_option": 20,
}
