#!/bin/sh
# Runs the packed programs on a machine that has nothing but the NVIDIA driver: run COMMAND [OPTIONS]
#   suite      every case of every op [--op ID] [--image sm_90a|compute_80|compute_75]
#   goldens    the fixtures [--dtype float32|float16|bfloat16]
#   generate   a video of the tiny model, or of --model DIR, as PNG frames in --out DIR
#   measure    loading of weights, leaks over many generations, errors [--generations N] [--gigabytes N]
#   sizes      generations of --model DIR at many sizes: memory, bits, event loop
#   tune       the fastest kernel variants of --model DIR on this GPU, as a table [--json FILE] [--repeats N]
#   bench      vd-bench: make-model, measure, ops, doctor, ...; paths are this folder's
#   overhead   what profiling costs, of the tiny model or of --model DIR [--frames N] [--size WxH] [--json FILE]
#   kernels    kernels that CUPTI sees beside the launches that plans say [--model DIR] [--json FILE]
#   sanitize   the suite's small cases under the toolkit's compute-sanitizer [--tool NAME] [--json FILE]
#   all        the suite on all device codes, goldens in all types, measure; results as report/<device>.json beside this
set -e
here=$(cd "$(dirname "$0")" && pwd)
name=$(cat "$here/name")
work=${VD_PACK_DIR:-${TMPDIR:-/tmp}}/$name
if [ ! -e "$work/ready" ]; then
  rm -rf "$work"
  mkdir -p "$work"
  xz -dc "$here/node.xz" > "$work/node"
  chmod +x "$work/node"
  xz -dc "$here/data.tar.xz" | tar -xf - -C "$work"
  touch "$work/ready"
fi
command=${1:-all}
[ $# -gt 0 ] && shift
node() { program=$1; shift; "$work/node" "$work/app/dist/$program.mjs" "$@"; }
find_cupti() {
  python3 -c 'import glob, sys
found = [path for folder in sys.path for path in glob.glob(folder + "/nvidia/*/lib/libcupti.so*")]
print(*found[:1])' 2> /dev/null || true
}
case $command in
  suite | generate | measure | sizes | tune | sanitize) cd "$work"; node "$command" "$@" ;;
  bench) node "$command" "$@" ;;
  overhead) node overhead --model "$work/models/tiny-svd" --device cuda "$@" ;;
  kernels)
    # CUPTI comes with PyTorch where there is no toolkit; it also is a tool that hears NVTX ranges.
    cupti=$(find_cupti)
    [ -n "$cupti" ] && export CUDA_PATH="${CUDA_PATH:-${cupti%/*/*}}" NVTX_INJECTION64_PATH="${NVTX_INJECTION64_PATH-$cupti}"
    node kernels --model "$work/models/tiny-svd" "$@"
    ;;
  goldens) node goldens "$work/fixtures" --device cuda "$@" ;;
  all)
    cd "$work"
    results=$work/results
    rm -rf "$results"
    mkdir -p "$results"
    status=0
    for dtype in float32 float16 bfloat16; do
      node goldens fixtures --device cuda --dtype $dtype --json > "$results/goldens-$dtype.json" || status=1
    done
    for image in best compute_80 compute_75; do
      option=""
      [ $image = best ] && option="--all" || option="--image $image"
      node suite $option --json "$results/suite-$image.json" || status=1
    done
    node measure --json "$results/measure.json" || status=1
    node merge "$results" "${VD_REPORT_DIR:-$here/report}"
    exit $status
    ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
