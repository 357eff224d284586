#!/bin/sh
# Builds the GPU bench (plain C++, driver API by dlopen): build_bench.sh OUT [extra sources]. Needs cuda.h for its types only.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)/packages/kernels-native
out=$1; shift
mkdir -p "$out/obj"
sources="native/harness/gpu_bench.cc native/harness/gpu_cases.cc native/harness/gpu_cases_norms.cc native/harness/gpu_driver.cc $(cd "$root" && ls native/cuda/planning/*.cc ops/*/*.cuda.cc)"
objects=""
for source in $sources "$@"; do
  object=$out/obj/$(echo "$source" | tr / _).o
  objects="$objects $object"
  (cd "$root" && nice -n 10 g++ -std=c++20 -O1 -w -I"${CUDA_INCLUDE:-/usr/local/cuda-13.0/include}" -c "$source" -o "$object")
done
g++ -static-libstdc++ -static-libgcc $objects -ldl -o "$out/gpu_bench"
