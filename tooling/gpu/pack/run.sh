#!/bin/sh
# Runs the packed programs on a machine that has nothing but the NVIDIA driver: run COMMAND [OPTIONS]
#   suite      every case of every op [--op ID] [--image sm_90a|compute_80|compute_75]
#   goldens    the fixtures [--dtype float32|float16|bfloat16]
#   generate   a video of the tiny model, or of --model DIR, as PNG frames in --out DIR
#   measure    loading of weights, leaks over many generations, errors [--generations N] [--gigabytes N]
#   decode     both autoencoders from arrays to arrays, that of --model DIR within limits of memory: time, memory, distance [--only svd|causal] [--rounds N] [--json FILE]
#   sizes      generations of --model DIR at many sizes, or at those named: memory, bits, event loop [--only NAME,NAME] [--steps N] [--rounds N]
#   tune       the fastest kernel variants of --model DIR on this GPU, as a table [--sizes 1024x576x25,…] [--precisions full,fp8] [--rows 2,1] [--memory full,low] [--json FILE] [--repeats N]
#   bench      vd-bench: make-model, measure, ops, doctor, ...; paths are this folder's
#   live       vd-live: bench and the like
#   realtime   frames of SD-Turbo's layout, begun ahead and not, and of the reference for real-time work in float16 and float8, the latter
#              beside PyTorch where python3 has it; results as report/live-*.json beside this
#   overhead   what profiling costs, of the tiny model or of --model DIR [--frames N] [--size WxH] [--json FILE]
#   kernels    kernels that CUPTI sees beside the launches that plans say [--model DIR] [--json FILE]
#   sweep      the tiny model on this machine's CPU by numbers of threads and ways to multiply [--threads 1,2,4] [--math exact,fast,bf16] [--out FILE]
#   sanitize   the suite's small cases under the toolkit's compute-sanitizer [--tool NAME] [--json FILE]
#   all        the suite on all device codes, goldens in all types, measure; results as report/<device>.json beside this
#   report     everything that reports/gpu has, with diffusers on PYTHONPATH beside ours; results in report/ beside this.
#              and whether a row is slower than ever (bench gate). About 18 minutes on an H200, in the order of their worth; a program that takes too long is stopped
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
# Runs in a folder of its own: where the user stands, relative paths go on to mean what they did.
check_all() (
  results=$work/results
  rm -rf "$results"
  mkdir -p "$results"
  status=0
  pids=
  cd "$work"
  # Beside each other: nothing is timed, and most of it is compiling PTX.
  for dtype in float32 float16 bfloat16; do
    node goldens fixtures --device cuda --dtype $dtype --json > "$results/goldens-$dtype.json" &
    pids="$pids $!"
  done
  node suite --all --json "$results/suite-best.json" &
  pids="$pids $!"
  for image in compute_80 compute_75; do
    node suite --image $image --json "$results/suite-$image.json" &
    pids="$pids $!"
  done
  for pid in $pids; do wait "$pid" || status=1; done
  node measure --json "$results/measure.json" || status=1
  node merge "$results" "$out"
  exit $status
)
# Runs a program of the report for at most so many seconds; what it wrote by then stays.
within() {
  seconds=$1
  shift
  echo "== $*"
  timeout -k 5 "$seconds" "$here/run" "$@" || status=1
}
measure() {
  seconds=$1
  shift
  within "$seconds" bench measure -m "$model" --rounds 3 --repeats 2 "$@"
}
# Real-time work: name of the result, then the options of vd-live bench.
live_frames() {
  result=$1
  shift
  within 180 live bench --device cuda --frames 300 --presses 0 --json "$out/live-$result.json" "$@"
}
realtime() {
  status=0
  live_frames sd-turbo --random sd-turbo
  live_frames sd-turbo-ahead --random sd-turbo --ahead 1
  live_frames unet-chain --random unet-chain
  live_frames unet-chain-ahead --random unet-chain --ahead 1
  live_frames unet-chain-pair --random unet-chain-pair
  live_frames unet-chain-pair-float8 --random unet-chain-pair --precision float8
  if python3 -c 'import torch' 2> /dev/null; then
    timeout -k 5 240 python3 "$work/app/peers/unet_chain.py" --json "$out/live-unet-chain-pair-peers.json" || status=1
  fi
}
report() {
  model=$work/svd-xt
  status=0
  [ -e "$model/model_index.json" ] || node bench make-model svd-xt -o "$model" --seed 1
  check_all || status=1
  measure 200 -o "$out/unet.json" --parts unet --peers eager,compile
  measure 150 -o "$out/parts.json" --parts clip,encode,vae --peers eager,compile
  within 120 bench ops --device cuda --rounds 2 --limit 1 --json "$out/ops-h200.json"
  # 25 frames by 25 steps, and 14 by 10.
  within 240 bench e2e --device cuda -m "$model" --peers eager --no-reference --e2e-rounds 3 --json "$out/e2e.json"
  within 150 sizes --model "$model" --json "$out/sizes-h200.json"
  within 60 overhead --model "$model" --dtype float16 --frames 25 --size 1024x576 --steps 6 --rounds 3 --json "$out/overhead.json"
  within 30 kernels --json "$out/kernels.json"
  if command -v compute-sanitizer > /dev/null; then within 150 sanitize --json "$out/sanitizer.json"; fi
  measure 30 -o "$out/start.json" --parts start --peers none
  # Beside ours once more, after two minutes of compiling.
  measure 330 -o "$out/compiled.json" --parts e2e --peers compile --no-reference --e2e-rounds 3
  set -- "$out/unet.json" "$out/parts.json" "$out/e2e.json" "$out/start.json" "$out/compiled.json"
  node join "$out/model-h200.json" "$@"
  rm -f "$@"
  within 60 bench gate --report "$out/model-h200.json" "$out/ops-h200.json"
}
out=${VD_REPORT_DIR:-$here/report}
case $out in /*) ;; *) out=$PWD/$out ;; esac
case $command in all | report | realtime) mkdir -p "$out" ;; esac
case $command in
  suite | sanitize) node "$command" "$@" ;;
  measure | generate | sizes | tune | sweep) node "$command" --model "$work/models/tiny-svd" "$@" ;;
  decode) node decode --device cuda "$@" ;;
  bench | live) node "$command" "$@" ;;
  overhead) node overhead --model "$work/models/tiny-svd" --device cuda "$@" ;;
  kernels)
    # CUPTI comes with PyTorch where there is no toolkit; it also is a tool that hears NVTX ranges.
    cupti=$(find_cupti)
    [ -n "$cupti" ] && export CUDA_PATH="${CUDA_PATH:-${cupti%/*/*}}" NVTX_INJECTION64_PATH="${NVTX_INJECTION64_PATH-$cupti}"
    node kernels --model "$work/models/tiny-svd" "$@"
    ;;
  goldens) node goldens "$work/fixtures" --device cuda "$@" ;;
  all) check_all ;;
  realtime)
    realtime
    exit $status
    ;;
  report)
    report
    exit $status
    ;;
  *) sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
