#!/bin/sh
# Compiles device sources to cubins: compile.sh ARCH OUT FILE...   ARCH is 75, 80, 90a ...; prints registers and spills.
set -e
arch=$1; out=$2; shift 2
mkdir -p "$out"
for source in "$@"; do
  stem=$(basename "$source" .cu)
  if ! nice -n 10 nvcc -std=c++20 -O3 -gencode=arch=compute_$arch,code=sm_$arch -cubin -Xptxas -v \
      "$source" -o "$out/$stem.cubin" > "$out/$stem.log" 2>&1; then grep -E "error" "$out/$stem.log" | head -20; exit 1; fi
  grep -E "error|warning|C75" "$out/$stem.log" || true
  awk '/Compiling entry/{gsub(/\x27/,"",$6); k=$7} /spill stores/{s=$5} /Used/{print "  " k, $5, "registers, spill", s}' "$out/$stem.log" > "$out/$stem.txt"
  echo "$stem sm_$arch: $(wc -l < "$out/$stem.txt") kernels, $(stat -c %s "$out/$stem.cubin") bytes, $(grep -vc 'spill 0$' "$out/$stem.txt" || true) with spills"
done
