import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { BenchFile, BenchRow } from "../../src/measure/report";
import { TINY_SVD, vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const STAND_IN = fileURLToPath(new URL("../support/stand_in_peer.py", import.meta.url));
const SMALL = ["--device", "cpu", "--threads", "2", "--frames", "2", "--size", "32x32", "--steps", "2"];
const ONCE = ["--rounds", "2", "--repeats", "2", "--e2e-rounds", "1"];

async function measure(extra: readonly string[]) {
  const output = join(temporaryFolder(), "out.json");
  const ran = await vdBench(["measure", "-m", TINY_SVD, "-o", output, ...SMALL, ...ONCE, ...extra]);
  const file = existsSync(output) ? (JSON.parse(readFileSync(output, "utf8")) as BenchFile) : undefined;
  const row = (suite: string, contender: string): BenchRow | undefined =>
    file?.rows.find((each) => each.suite === suite && each.contender === contender);
  return { ...ran, file, row };
}

describe("vd-bench measure", () => {
  it("runs ours and a peer in turns, with errors against the peer's reference", async () => {
    const { status, row, file, stdout } = await measure(["--parts", "clip", "--peer-script", STAND_IN]);
    expect(status).toBe(0);
    expect(row("clip", "ours")).toMatchObject({ samplesUs: expect.arrayContaining([expect.any(Number)]) });
    expect(row("clip", "ours")!.samplesUs).toHaveLength(4);
    expect(row("clip", "ours")!.error).toBeGreaterThan(0.5); // The stand-in's ones are not CLIP's embedding.
    expect(row("clip", "diffusers")).toMatchObject({ medianUs: 1000.5, madUs: 0.5, firstUs: 20, peakBytes: 4096 });
    expect(row("clip", "diffusers")!.error).toBeCloseTo(0.01, 5);
    expect(row("clip", "diffusers-compile")).toMatchObject({ reason: "RuntimeError: no compiler here" });
    expect(file!.versions).toMatchObject({ peerDevice: "stand-in" });
    expect(stdout).toContain("no compiler here");
  });

  it("adds up the rows of a plan by op and shape", async () => {
    const { file } = await measure(["--parts", "unet,vae", "--peers", "none", "--no-reference"]);
    for (const suite of ["unet", "vae"]) {
      const table = file!.tables[suite]!;
      const row = file!.rows.find((each) => each.suite === suite)!;
      const gflop = table.reduce((sum, group) => sum + group.gflop, 0);
      expect(gflop * 1e9).toBeCloseTo(row.flops!, -3);
      expect(table.every(({ totalUs }, i) => i === 0 || totalUs <= table[i - 1]!.totalUs)).toBe(true);
      expect(table.find(({ op }) => op === "conv")!.count).toBeGreaterThan(0);
    }
  });

  it("goes on with ours when the peer ends or is not there, and says why", async () => {
    const folder = temporaryFolder();
    const broken = join(folder, "broken.py");
    writeFileSync(broken, "import sys\nsys.stderr.write('the library is missing\\n')\nsys.exit(3)\n");
    const ended = await measure(["--parts", "clip", "--peer-script", broken]);
    expect(ended.status).toBe(0);
    expect(ended.row("clip", "ours")!.medianUs).toBeGreaterThan(0);
    expect(ended.row("clip", "diffusers")!.reason).toContain("status 3: the library is missing");
    const missing = await measure(["--parts", "clip", "--python", join(folder, "no-python")]);
    expect(missing.row("clip", "diffusers")!.reason).toContain("there is no program");
  });

  it("times a distilled model's few steps without guidance, and no peer", async () => {
    const output = join(temporaryFolder(), "out.json");
    const small = ["-m", TINY_SVD, "--device", "cpu", "--threads", "2", "--frames", "2", "--size", "32x32"];
    const once = ["--rounds", "1", "--repeats", "1", "--e2e-rounds", "1", "--json", output];
    const { status } = await vdBench(["e2e", ...small, ...once, "--distilled", "--peer-script", STAND_IN]);
    expect(status).toBe(0);
    const { rows, options } = JSON.parse(readFileSync(output, "utf8")) as BenchFile;
    expect(rows.map(({ contender }) => contender)).toEqual(["ours"]);
    expect(rows[0]).toMatchObject({ suite: "e2e", name: "2 frames 32x32 4 steps, distilled" });
    expect(options).toMatchObject({ distilled: true, steps: 4 });
  });

  it("measures a generation and the start of a fresh process", async () => {
    const { row, status, stderr } = await measure(["--parts", "start,e2e", "--peers", "none", "--no-reference"]);
    expect(status, stderr).toBe(0);
    expect(row("start", "ours")!.medianUs, stderr).toBeGreaterThan(50_000);
    expect(row("e2e", "ours")!.medianUs).toBeGreaterThan(1000);
    expect(row("e2e", "ours")!.peakBytes).toBeGreaterThan(1e6);
  });

  it("refuses wrong options in a sentence", async () => {
    const { status, stderr } = await measure(["--parts", "unet,sound"]);
    expect(status).toBe(2);
    expect(stderr).toContain('[--parts] expected one of clip, encode, unet, vae, start, e2e, got "sound"');
    expect((await measure(["--size", "33x32"])).stderr).toContain("multiples of 8");
  });
});

describe("ONNX Runtime beside ours", () => {
  it("computes the same from our export, part by part and end to end", async () => {
    const alone = ["--no-reference", "--peers", "onnxruntime"];
    const { status, row, stderr } = await measure(["--parts", "clip,encode,unet,vae,e2e", ...alone]);
    expect(status, stderr).toBe(0);
    for (const suite of ["clip", "encode", "unet", "vae"]) {
      expect(row(suite, "onnxruntime")!.error, stderr).toBeLessThan(1e-4); // Its distance to ours: no PyTorch here.
      expect(row(suite, "onnxruntime")!.samplesUs).toHaveLength(4);
    }
    expect(row("e2e", "onnxruntime")!.medianUs, stderr).toBeGreaterThan(1000);
  });

  it("is left out on a GPU with its reason in the column", async () => {
    const { onnxContender } = await import("../../src/measure/onnx-contender");
    const options = { device: "cuda" } as Parameters<typeof onnxContender>[0];
    const part = { part: "clip" } as Parameters<typeof onnxContender>[1];
    await expect(onnxContender(options, part, "", undefined)).rejects.toThrow("measured on the CPU only");
  });
});
