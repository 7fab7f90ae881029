"""The CUDA-Python dialect: from a Python function and argument types to a P-LLVM module (``docs/language.md``).

`compile.compile_python` is the door. `types`, `typeof` and `signatures` are about the types of arguments,
`typing_rules` about those of operations; `source` and `scope` read functions, `lowering` emits their code;
`cuda_names`, `device_random`, `device_math` and `device_complex` are what kernels find under `cuda` and in the
libraries.
"""
