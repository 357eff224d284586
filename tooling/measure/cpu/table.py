"""Writes README.md beside the reports of cpu.py. table.py FOLDER"""
import json
import sys
from pathlib import Path

TITLES = {"unet": "UNet call, 2 rows (guidance)", "decode": "VAE decode, 14 frames", "encode": "VAE encode",
          "clip": "CLIP image encoder", "pipeline": "whole generation, 25 steps"}
NAMES = {"ours": "this project", "pytorch": "PyTorch", "onnxruntime": "ONNX Runtime"}
HEAD = """# CPU times

The bundled model `models/tiny-svd`, 14 frames of 128 × 128, float32, medians of interleaved runs; in brackets the 10th
and 90th percentile, then the largest resident size of a fresh process that runs this alone. Repeat it with
`python tooling/measure/cpu/cpu.py`; [tooling/measure/cpu/README.md](../../tooling/measure/cpu/README.md) says what it needs and what
exactly is timed. The `.json` files beside this one hold all figures.
"""


def cell(figures):
    if figures is None:
        return "–"
    digits = 0 if figures["medianMs"] >= 1000 else 1
    low, median, high = (f"{figures[key]:.{digits}f}" for key in ("p10Ms", "medianMs", "p90Ms"))
    return f"{median} ms ({low}–{high}), {figures['peakBytes'] / 2**20:.0f} MiB"


def gap(figures):
    if "maxLevels" in figures:
        return f"{figures['maxLevels']} of 255 at most, {100 * figures['partOfValuesThatDiffer']:.2f} % of values"
    return f"{figures['relativeL2']:.1e} relative L2"


def section(report):
    cpu = report["cpu"]
    names = [name for name in NAMES if any(name in peers for peers in report["cases"].values())]
    before, after = report["loadBeforeAndAfter"]
    every = [figures for peers in report["cases"].values() for figures in peers.values()]
    noisy = max((figures["mostTakenByOthers"] or 0 for figures in every), default=0)
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    features = ", ".join(cpu["features"])
    lines = [f"## {cpu['name']}, {cpu['cores']} cores ({features})", "",
             "| | " + " | ".join(NAMES[name] for name in names) + " | PyTorch ÷ ours | ours differs from PyTorch by |",
             "|---" * (len(names) + 3) + "|"]
    for case, peers in report["cases"].items():
        ours = peers.get("ours")
        ratio = f"{peers['pytorch']['medianMs'] / ours['medianMs']:.2f}" if ours else "–"
        cells = [cell(peers.get(name)) for name in names]
        lines.append(f"| {TITLES[case]} | " + " | ".join(cells) + f" | {ratio} | {gap(ours) if ours else '–'} |")
    about = (f"{report['date']}; {cpu['threadsOfEachPeer']} threads each; {versions}. Load average {before} before and "
             f"{after} after; in turns that count, other processes took up to {100 * noisy:.0f} % of the processor.")
    return "\n".join([*lines, "", about, ""])


def write_table(folder):
    reports = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]
    (Path(folder) / "README.md").write_text("\n".join([HEAD, *map(section, reports)]))


if __name__ == "__main__":
    write_table(sys.argv[1])
