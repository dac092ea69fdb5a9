#!/bin/sh
# build_in_place.sh ARGUMENTS: run Python with these arguments on a machine on which pip can install nothing.
#
# It builds the core with plain CMake beside a copy of the package in build/in_place, which Python then imports, as in
# `build_in_place.sh -m benchmarks.cores`. It needs Python 3.11 or later with its headers, NumPy, scikit-learn, CMake, a C++ compiler and nanobind, which may
# also lie in a folder that nanobind_DIR names. PYTHON names the interpreter.
set -eu
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
build=build/in_place
package=$build/package
nanobind=${nanobind_DIR:-$("$python" -m nanobind --cmake_dir)}
"$python" -c 'import sys, numpy, sklearn; assert sys.version_info >= (3, 11), sys.version'
generator=
command -v ninja > /dev/null && generator='-G Ninja'
rm -rf "$build"
# shellcheck disable=SC2086 # two words, or none
cmake -S . -B "$build/core" $generator -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$nanobind"
cmake --build "$build/core" --parallel
mkdir -p "$package"
cp -R src/kdi "$package"
rm -f "$package"/kdi/_numerics/_core*.so  # of another build
cp "$build"/core/_core*.so "$package/kdi/_numerics/"
PYTHONPATH=$package:.${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
"$python" -c "import kdi._numerics._core as core; assert '/in_place/' in core.__file__, f'{core.__file__} is of another build'"
exec "$python" -W ignore "$@"
