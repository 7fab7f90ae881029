#!/usr/bin/env bash
# Runs tests as aarch64 Linux has them, under qemu-user: packaging/aarch64.sh [TESTS AND OPTIONS OF PYTEST].
# Debian's Python for arm64 and wheels of what the tests need are fetched once, into out/aarch64; nothing is installed
# but qemu-user itself. It takes apt-get; the architecture of the system's own packages stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
home=$PWD/out/aarch64
root=$home/root

command -v qemu-aarch64 >/dev/null || apt-get install -qq -y --no-install-recommends qemu-user >/dev/null

if [ ! -e "$home/done" ]; then
    rm -rf "$home"
    mkdir -p "$home"/{lists,archives}/partial "$root"
    : >"$home/status"
    # A list of packages, a cache and a state of their own: apt finds all that Python needs, as on an empty machine.
    options=(
        -qq -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oAPT::Sandbox::User=root
        -oDir::State::Lists="$home/lists" -oDir::State::Status="$home/status" -oDir::Cache::Archives="$home/archives"
        -oDir::Cache::pkgcache= -oDir::Cache::srcpkgcache=
    )
    apt-get "${options[@]}" update
    apt-get "${options[@]}" -y --no-install-recommends --download-only install python3 libgcc-s1 libstdc++6
    for package in "$home"/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
    version=$(readlink "$root/usr/bin/python3")
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --dest "$home/wheels" \
        --python-version "${version#python}" --platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 \
        --platform manylinux_2_28_aarch64 \
        'llvmlite>=0.50,<0.51' 'numpy>=2' 'msgspec>=0.20' scipy ml_dtypes pytest hypothesis networkx rustworkx
    for wheel in "$home"/wheels/*.whl; do
        "$PYTHON" -m zipfile -e "$wheel" "$root/usr/local/lib/$version/dist-packages"
    done
    rm -rf "$home"/{lists,archives,wheels}
    : >"$home/done"
fi

# The interpreter judges passes where the tests run natively; here it is machine code that is looked at.
export WEFT_CHECK=${WEFT_CHECK:-0} WEFT_CACHE_DIR=$home/cache PYTHONPATH=$PWD/src
unset PYTHONHOME
if [ $# -eq 0 ]; then
    set -- tests/codegen/test_{atomics,differential,functions,settled_rules}.py tests/runtime/test_{dispatched_launches,launch}.py
fi
exec qemu-aarch64 -L "$root" "$root/usr/bin/python3" -m pytest -q -p no:cacheprovider "$@"
