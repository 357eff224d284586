"""Times the parts of Stable Video Diffusion on this machine's CPU: this project, PyTorch and ONNX Runtime.

Every peer is a process of its own and they take turns: in each round each peer runs each case, so that whatever else
the machine does meets all of them. Of the turns those count in which other processes left the processor alone. The
first run of a case is not timed; its result is compared with PyTorch's."""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from busy import Busy, wait_for_quiet
from table import write_table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
STEPS = 25
# How often a case runs in one turn; the pipeline's turn takes seconds.
RUNS = {"unet": 3, "decode": 2, "encode": 5, "clip": 5, "pipeline": 1}
EVERY = list(RUNS)
PEERS = {"ours": EVERY, "pytorch": EVERY, "onnxruntime": ["unet", "decode"]}
# Part of all cores that other processes may take during a turn that counts, and how many such turns are enough.
QUIET = 0.05
ENOUGH = 3
# Between turns, so that threads which wait by spinning go to sleep.
PAUSE_S = 0.1
INPUTS = ["unet.first.sample", "unet.first.timestep", "unet.first.encoder_hidden_states", "unet.first.added_time_ids",
          "latents.init", "image_latents", "guidance", "clip.pixel_values", "vae.encode_input", "image_u8"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=ROOT / "models/tiny-svd")
    parser.add_argument("--out", type=Path, default=ROOT / "reports/cpu", help="folder of the report")
    parser.add_argument("--threads", type=int, default=2, help="of every peer")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--patience", type=float, default=5, help="seconds that a turn waits for a quiet machine")
    parser.add_argument("--cases", nargs="+", choices=EVERY, default=EVERY)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS), help="pytorch always runs")
    return parser.parse_args()


def write_inputs(work, options):
    """What a real run computes with, as the committed fixture stores it: raw arrays and a list of their shapes."""
    fixture = ROOT / "fixtures/tiny-svd/goldens"
    stored = load_file(f"{fixture}.safetensors")
    arrays = {name: stored[name] for name in INPUTS}
    arrays["latents.last"] = stored["latents.steps"][-1]
    arrays["input_scale"] = 1 / np.sqrt(stored["scheduler.sigmas"][:1].astype(np.float64) ** 2 + 1)
    for name, values in arrays.items():
        arrays[name] = np.ascontiguousarray(values, np.uint8 if values.dtype == np.uint8 else np.float32)
        arrays[name].tofile(work / f"{name}.bin")
    settings = json.loads(Path(f"{fixture}.json").read_text())["settings"] | {"num_inference_steps": STEPS}
    shapes = {name: list(values.shape) for name, values in arrays.items()}
    about = {"shapes": shapes, "settings": settings, "threads": options.threads, "model": str(options.model.resolve())}
    (work / "inputs.json").write_text(json.dumps(about))


class Peer:
    """A process that runs a case for each line it is sent, and answers with one line."""

    def __init__(self, name, work, threads):
        python = [sys.executable, str(HERE / "workers.py"), name, str(work)]
        node = ["node", "--import", "tsx", str(HERE / "cpu.ts"), str(work)]
        count = str(threads)
        environment = {**os.environ, "OMP_NUM_THREADS": count, "VD_THREADS": count,
                       "TSX_TSCONFIG_PATH": str(ROOT / "tsconfig.json")}
        self.name = name
        self.process = subprocess.Popen(node if name == "ours" else python, cwd=ROOT, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, case, runs):
        """Seconds of each run, and the process's largest resident size so far."""
        self.process.stdin.write(json.dumps({"case": case, "runs": runs}) + "\n")
        self.process.stdin.flush()
        # Libraries print to the standard output too.
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"{self.name} ended while it ran {case}: status {self.process.wait()}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peak_bytes(name, case, work, threads):
    """The largest resident size of a fresh process that loads what the case needs and runs it once."""
    peer = Peer(name, work, threads)
    answer = peer.ask(case, 0)
    peer.close()
    return answer["peakBytes"]


def measure(work, names, options):
    """Turns as {"seconds", "others"}: turns[case][peer]. `others` is what other processes took meanwhile."""
    peers = [Peer(name, work, options.threads) for name in names]
    turns = {case: {name: [] for name in names if case in PEERS[name]} for case in options.cases}
    for case in options.cases:
        for peer in peers:
            if case in PEERS[peer.name]:
                peer.ask(case, 0)
    for index in range(options.rounds):
        for case in options.cases:
            able = [peer for peer in peers if case in PEERS[peer.name]]
            first = index % len(able)
            for peer in able[first:] + able[:first]:
                time.sleep(PAUSE_S)
                wait_for_quiet(QUIET, options.patience)
                busy = Busy(peer.process.pid)
                seconds = peer.ask(case, RUNS[case])["seconds"]
                turns[case][peer.name].append({"seconds": seconds, "others": busy.others()})
        print(f"round {index + 1} of {options.rounds}", file=sys.stderr, flush=True)
    for peer in peers:
        peer.close()
    return turns


def summary(turns):
    """Milliseconds per run in quiet turns, or in the quietest where too few were quiet."""
    known = sorted((turn for turn in turns if turn["others"] is not None), key=lambda turn: turn["others"])
    quiet = [turn for turn in known if turn["others"] <= QUIET]
    chosen = (quiet if len(quiet) >= ENOUGH else known[:ENOUGH]) or turns
    runs = np.concatenate([turn["seconds"] for turn in chosen]) * 1000
    low, median, high = (round(float(value), 3) for value in np.percentile(runs, [10, 50, 90]))
    others = [round(turn["others"], 3) for turn in chosen if turn["others"] is not None]
    return {"medianMs": median, "p10Ms": low, "p90Ms": high, "runs": len(runs), "turns": len(turns),
            "quietTurns": len(quiet), "mostTakenByOthers": max(others, default=None)}


def difference(work, case, name):
    """From PyTorch's float32 result; of whole videos in levels of 255."""
    dtype = np.uint8 if case == "pipeline" else np.float32
    ours, expected = (np.fromfile(work / f"{who}.{case}.bin", dtype).astype(np.float64) for who in (name, "pytorch"))
    gap = np.abs(ours - expected)
    if case == "pipeline":
        return {"maxLevels": int(gap.max()), "partOfValuesThatDiffer": round(float(np.mean(gap > 0)), 5)}
    return {"relativeL2": float(np.linalg.norm(gap) / np.linalg.norm(expected)), "maxAbs": float(gap.max())}


def cpu_name():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None) or \
        platform.processor() or platform.machine()


def cpu_about(options):
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    wanted = ["avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd"]
    return {"name": cpu_name(), "cores": os.cpu_count(), "features": [flag for flag in wanted if flag in flags],
            "threadsOfEachPeer": options.threads}


def versions():
    from importlib.metadata import version
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    packages = ["torch", "diffusers", "transformers", "onnxruntime"]
    return {"python": platform.python_version(), "node": node} | {name: version(name) for name in packages}


def main():
    options = arguments()
    names = [name for name in PEERS if name == "pytorch" or name in options.peers]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_inputs(work, options)
        if "onnxruntime" in names:
            subprocess.run([sys.executable, str(HERE / "workers.py"), "export", folder], check=True, stdout=2)
        load = [round(os.getloadavg()[0], 2)]
        turns = measure(work, names, options)
        load.append(round(os.getloadavg()[0], 2))
        cases = {case: {name: {**summary(turns[case][name]), **difference(work, case, name),
                               "peakBytes": peak_bytes(name, case, work, options.threads)}
                        for name in turns[case]} for case in options.cases}
    report = {"cpu": cpu_about(options), "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
              "versions": versions(), "pipelineSteps": STEPS, "rounds": options.rounds,
              "quietIsBelow": QUIET, "loadBeforeAndAfter": load, "cases": cases}
    options.out.mkdir(parents=True, exist_ok=True)
    slug = "-".join("".join(c if c.isalnum() else " " for c in report["cpu"]["name"]).lower().split())
    path = options.out / f"{slug}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    write_table(options.out)
    print(path)


if __name__ == "__main__":
    main()
