#!/usr/bin/env bash
# Runs tests as a machine with AVX-512 has them, on one that has none: packaging/avx512.sh [TESTS AND OPTIONS OF PYTEST].
# weft does all as for x86-64-v4; LLVM makes code for this machine of what weft has written (packaging/avx512/).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}

# Code that is kept would be taken for code of the level by a machine that has it.
export WEFT_CPU=x86-64-v4 WEFT_STAND_IN=1 WEFT_CACHE_DIR=$PWD/out/avx512 PYTHONPATH=$PWD/packaging/avx512:$PWD/src
if [ $# -eq 0 ]; then
    set -- -n auto --dist worksteal tests/{codegen,cuda,device,loops,opencl,passes,ptx,runtime,target,transform}
fi
exec "$PYTHON" -m pytest -q -p no:cacheprovider -p left_out "$@"
