import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OPS, openDevice } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { Plan } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import type { BenchFile } from "../../src/measure/report";
import { cacheBytes } from "../../src/ops/cache-size";
import { benchCases, chooseCases } from "../../src/ops/cases";
import { explanationText } from "../../src/ops/explain-ops";
import { opLayout, opSizes } from "../../src/ops/op-plan";
import { operandShapes, operandsOf, placeOperands, unplaced } from "../../src/ops/operands";
import { type OpsTiming, planOps } from "../../src/ops/plan-ops";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const STAND_IN = fileURLToPath(new URL("../support/stand_in_peer.py", import.meta.url));
const QUICK = ["--device", "cpu", "--threads", "2", "--rounds", "2", "--repeats", "2"];

describe("op cases", () => {
  it("come from every op, with names of their own, and have the origin projects' rows", () => {
    expect(Object.keys(OP_CASES).sort()).toEqual(Object.keys(OPS).sort());
    const names = benchCases().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const origin of ["2x8x64x64", "4x12x128x64", "2x16x256x64", "2x8x77x64"])
      expect(names).toContain(`attention.origin.${origin}`);
    expect(names).toContain("conv.origin.3x3x3.320");
  });

  it("are chosen by a part of their name, on the CPU without those that take gigabytes", () => {
    expect(chooseCases("conv.svd-xt.unet", "cpu").length).toBeGreaterThan(3);
    expect(chooseCases(undefined, "cpu").some(({ name }) => /svd-xt\.|\.video\./.test(name))).toBe(false);
    expect(chooseCases(undefined, "cpu").some(({ name }) => name.includes("32760 tokens"))).toBe(false);
    expect(chooseCases(undefined, "cuda").some(({ name }) => name.includes("32760 tokens"))).toBe(true);
    expect(chooseCases(undefined, "cuda").some(({ name }) => name.includes("svd-xt."))).toBe(true);
    expect(chooseCases("", "cpu")).toEqual(chooseCases(undefined, "cpu"));
    expect(() => chooseCases("atention", "cpu")).toThrow(/Nearest: attention/);
  });

  it("are those of one op, large ones too, where an op is named", () => {
    const steps = chooseCases(undefined, "cpu", "sampler_step");
    expect(steps.length).toBeGreaterThan(5);
    expect(steps.every(({ op }) => op === "sampler_step")).toBe(true);
    expect(chooseCases("multistep", "cpu", "sampler_step").map(({ name }) => name)).toEqual([
      "sampler_step.svd-xt.sampler_step.multistep",
    ]);
    expect(() => chooseCases(undefined, "cpu", "sampler")).toThrow(/^\[--op\].*Nearest: sampler_step/);
    expect(() => chooseCases("tiny.unet", "cpu", "sampler_step")).toThrow(/a part of the name/);
  });

  it("run over operands that together exceed the cache three times", async () => {
    const device = openDevice("cpu", { threads: 1 });
    for (const each of chooseCases("tiny.unet.down0", "cpu")) {
      const operands = operandsOf(each, "f32");
      const sizes = opSizes(each, operands, { cacheBytes: 2 ** 20, isGpu: false }, "f32");
      if (sizes.numSets < 32) expect(sizes.numSets * sizes.bytes).toBeGreaterThanOrEqual(3 * 2 ** 20);
      const placed = await placeOperands(device, operands, sizes.numSets);
      const { graph, cost } = opLayout(each, placed.sets, "f32");
      placed.free();
      expect(graph.rows).toHaveLength(sizes.numSets);
      expect(cost.flops).toBe(sizes.numSets * sizes.flops);
    }
  });

  it("are called again and again on a GPU until starting a run no longer counts, for the same results", async () => {
    const device = openDevice("cpu", { threads: 1 });
    const each = chooseCases("tiny.unet.conv_out", "cpu")[0]!;
    const operands = operandsOf(each, "f32");
    const sizes = opSizes(each, operands, { cacheBytes: 2 ** 10, isGpu: true }, "f32");
    expect(sizes.numSets).toBe(1);
    expect(sizes.passes).toBe(32);
    const large = chooseCases("svd-xt.unet.down0.attn0.spatial", "cuda", "attention")[0]!;
    expect(
      opSizes(large, operandShapes(large, "f16"), { cacheBytes: 2 ** 27, isGpu: true }, "f16").passes,
    ).toBeLessThan(3);
    expect(opSizes(each, operands, { cacheBytes: 2 ** 10, isGpu: false }, "f32").passes).toBe(1);

    const placed = await placeOperands(device, operands, 1);
    const once = await Plan.load(device, opLayout(each, placed.sets, "f32"));
    const often = await Plan.load(device, opLayout(each, placed.sets, "f32", 3));
    expect(often.layout.graph.rows).toHaveLength(3);
    expect([...often.layout.graph.outputs.keys()]).toEqual(["result 0"]);
    await once.run();
    await often.run();
    expect(await often.read("result 0")).toEqual(await once.read("result 0"));
    once.freeSync();
    often.freeSync();
    placed.free();
  });

  it("compute every result that the case asks for, as the peer's sequence does", () => {
    const step = chooseCases("tiny.sampler_step", "cpu")[0]!;
    const { graph } = opLayout(step, [unplaced(operandsOf(step, "f32"))], "f32");
    expect([...graph.outputs.keys()]).toEqual(["input 0", "result 0"]);
    expect(graph.outputs.get("input 0")!.dims).toEqual([2, 14, 16, 16, 8]);
  });

  it("have operands that repeat a pattern to their end, alike in every copy", async () => {
    const device = openDevice("cpu", { threads: 1 });
    const pattern = Float32Array.from([1, 2, 3, 4, 5]);
    const operand = { name: "x", dims: [1, 1, 3, 4], dtype: "f32", constant: false, pattern } as const;
    const placed = await placeOperands(device, [operand, { ...operand, name: "w", constant: true }], 2);
    const expected = Array.from({ length: 12 }, (_, i) => 1 + (i % 5));
    for (const { x, w } of placed.sets)
      for (const tensor of [x!, w!])
        expect([...tensor.storage.place!.buffer.readSync(new Float32Array(12))]).toEqual(expected);
    expect(placed.sets[0]!.x!.storage.kind).toBe("state");
    expect(placed.sets[0]!.w!.storage.kind).toBe("weights");
    placed.free();
  });

  it("know the cache from the system, within limits", () => {
    const folder = temporaryFolder();
    for (const [index, size] of [
      ["index0", "48K"],
      ["index3", "36M"],
    ] as const) {
      mkdirSync(join(folder, index));
      writeFileSync(join(folder, index, "size"), `${size}\n`);
    }
    expect(cacheBytes("cpu", folder)).toBe(36 * 2 ** 20);
    writeFileSync(join(folder, "index3", "size"), "2G\n");
    expect(cacheBytes("cpu", folder)).toBe(64 * 2 ** 20);
    expect(cacheBytes("cpu", join(folder, "none"))).toBe(32 * 2 ** 20);
  });
});

describe("vd-bench ops", () => {
  it("writes results, compares with them, and says once why there is no peer", async () => {
    const folder = temporaryFolder();
    const json = join(folder, "out.json");
    const args = ["ops", "tiny.unet.down0.res0.time_emb_proj", ...QUICK, "--json", json];
    const first = await vdBench([...args, "--peer-script", join(folder, "none.py")]);
    expect(first.status, first.stderr).toBe(0);
    const file = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
    expect(file.rows.map(({ contender }) => contender)).toEqual(["ours"]);
    expect(file.rows[0]!.samplesUs).toHaveLength(4);
    expect(file.rows[0]!.flops).toBeGreaterThanOrEqual(2 * 2 * 256 * 64);
    expect(file.notes).toEqual([expect.stringMatching(/^Without PyTorch: .*none\.py/)]);
    expect(first.stderr.match(/Without PyTorch/g)).toHaveLength(1);
    expect(first.stderr).toMatch(/ 1 of \d+ shapes, ours in 2 rounds of 2 runs: about /);
    expect(first.stdout).not.toContain("pytorch");
    // So far below any time that no noise of a busy machine hides the difference.
    const far = 1e-3;
    const fast = { ...file, rows: [{ ...file.rows[0], medianUs: far, madUs: 0, samplesUs: Array(8).fill(far) }] };
    const baseline = join(folder, "baseline.json");
    writeFileSync(baseline, JSON.stringify(fast));
    const again = await vdBench([...args, "--no-peers", "--compare", baseline]);
    expect(again).toMatchObject({ status: 1, stdout: expect.stringContaining("slower") });
    writeFileSync(baseline, JSON.stringify({ ...fast, machine: { ...file.machine, device: "another" } }));
    const other = await vdBench([...args, "--no-peers", "--compare", baseline]);
    expect(other).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("one from another. Use --force"),
    });
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("times other variants where there are some: not on the CPU", async () => {
    const json = join(temporaryFolder(), "out.json");
    const run = await vdBench([
      "ops",
      "tiny.unet.down0.res0.time_emb_proj",
      ...QUICK,
      "--variants",
      "--no-peers",
      "--json",
      json,
    ]);
    expect(run.status).toBe(0);
    const { rows } = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
    expect(rows.map(({ contender }) => contender)).toEqual(["ours"]);
  });

  it("asks a peer for the same op and tells of its difference", async () => {
    const json = join(temporaryFolder(), "out.json");
    const args = ["ops", "layer_norm.tiny.unet.down0", ...QUICK, "--json", json, "--peer-script", STAND_IN];
    expect((await vdBench(args)).status).toBe(0);
    const { rows } = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
    const peer = rows.find(({ contender }) => contender === "pytorch")!;
    expect(peer.error).toBeLessThan(1e-5);
    expect(peer.error).toBeGreaterThan(0);
    expect(peer.medianUs).toBeGreaterThan(0);
  });

  it("counts a trace's work of the GPU, not the calls that queue it", () => {
    const categories = ["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "gpu_user_annotation", "kernel"];
    const trace = { traceEvents: [...categories.map((cat) => ({ cat, ph: "X" })), { ph: "M", name: "process_name" }] };
    const peers = fileURLToPath(new URL("../../peers", import.meta.url));
    const script = "import json, launches, sys; print(launches.count_launches(json.load(sys.stdin)))";
    const env = { ...process.env, PYTHONPATH: peers, PYTHONDONTWRITEBYTECODE: "1" };
    const result = spawnSync("python3", ["-c", script], { input: JSON.stringify(trace), encoding: "utf8", env });
    expect(result.stdout.trim(), result.stderr).toBe("4");
  });

  it("tells why: which fast path computes a case on the CPU, or that the definition does", async () => {
    const why = (pattern: string) => vdBench(["ops", pattern, ...QUICK, "--why"]);
    const linear = await why("tiny.unet.down0.res0.time_emb_proj");
    expect(linear).toMatchObject({ status: 0, stderr: "" });
    expect(linear.stdout).toMatch(/^linear\.tiny\S*time_emb_proj\n {2}runs {7}linear_(amx|simd), a fast path\n$/);
    const declined = {
      op: "token_embed",
      name: "a",
      kind: "cpu",
      chosen: "definition",
      others: [],
      rejected: [],
    } as const;
    expect(explanationText(declined)).toMatch(/\n {2}runs {7}the definition, ops\/token_embed\/token_embed\.cpu\.cc$/);
    const written = await vdBench(["ops", "tiny.sampler_step", ...QUICK, "--why", "--json", "out.json"]);
    expect(written).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("[--why] expected no --json beside it"),
    });
  });

  it("prints what runs on a GPU, what else could, and why the rest could not", () => {
    const text = explanationText({
      ...{ op: "conv", name: "conv.a", kind: "cuda", chosen: "sm90_m128n256", others: ["conv_plain_f16"] },
      rejected: [{ name: "conv_few_f16", reason: "is for at most 4 output channels, there are 320" }],
    });
    expect(text.split("\n")).toEqual([
      "conv.a",
      "  runs       sm90_m128n256",
      "  could run  conv_plain_f16",
      "  left out   conv_few_f16: is for at most 4 output channels, there are 320",
    ]);
  });

  it("says in words what a Python lacks", async () => {
    const folder = temporaryFolder();
    const script = join(folder, "peer.py");
    writeFileSync(script, "import no_such_package.inner\n");
    const args = ["ops", "tiny.unet.down0.res0.time_emb_proj", ...QUICK, "--peer-script", script];
    const lacking = await vdBench(args);
    expect(lacking.stderr).toContain("Without PyTorch: python3 has no package no_such_package: install it, or name");
    expect(lacking.stderr + lacking.stdout).not.toMatch(/Traceback|ModuleNotFoundError/);
    const absent = await vdBench([...args, "--python", join(folder, "python")]);
    expect(absent.stderr).toContain(`Without PyTorch: there is no program ${join(folder, "python")}: name a Python`);
  });

  it("plans without timing: each case and about how long all takes, large shapes only by name", async () => {
    const plan = await vdBench(["ops", "--dry-run", "--no-peers", "--rounds", "2"]);
    expect(plan.status, plan.stderr).toBe(0);
    expect(plan.stdout).toMatch(/\nlayer_norm\.tiny\.\S+ +\d+ +[\d.]+ +[\d.]+ +(under 1|\d+) s\n/);
    expect(plan.stdout).not.toMatch(/svd-xt\.|conv\.origin/);
    expect(plan.stdout).toMatch(/\n\d+ of \d+ shapes, ours in 2 rounds of 3 runs: about \d+ (s|min)\n$/);
    const named = await vdBench(["ops", "conv.origin", "--dry-run", "--no-peers"]);
    expect(named.stdout).toContain("conv.origin.3x3x3.320");
  });

  it("estimates more for more work, rounds and contenders, and a limit bounds it", () => {
    const rates = { copyGbPerS: 10, matrixTflopPerS: 0.1 };
    const common = { device: "cpu", dtype: "f32", rounds: 5, repeats: 3, rates } as const;
    const plan = (pattern: string, more: Partial<OpsTiming> = {}) => {
      const timing = { ...common, limitMs: Number.POSITIVE_INFINITY, contenders: ["ours"], ...more };
      return planOps(chooseCases(pattern, "cpu"), timing).reduce((sum, { totalMs }) => sum + totalMs!, 0);
    };
    const one = plan("conv.origin");
    // 79 GFLOP a call at half of 100 GFLOP/s, 16 runs over at least one copy.
    expect(one).toBeGreaterThan(16 * 1500);
    expect(plan("conv.origin", { contenders: ["ours", "PyTorch"] })).toBeCloseTo(2 * one, 0);
    expect(plan("conv.origin", { rounds: 10 })).toBeGreaterThan(1.8 * one);
    expect(plan("conv.origin", { limitMs: 1 })).toBeLessThan(0.3 * one);
    expect(plan("guide.tiny")).toBeLessThan(one / 1000);
    const unknown = planOps(chooseCases("guide.tiny", "cpu"), {
      ...common,
      limitMs: 1,
      contenders: ["ours"],
      rates: undefined,
    });
    expect(unknown[0]!.totalMs).toBeUndefined();
  });

  it("names what is near an unknown pattern, before any work", async () => {
    const json = join(temporaryFolder(), "out.json");
    const ran = await vdBench(["ops", "gruop_norm", ...QUICK, "--json", json]);
    expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining("Nearest: group_norm") });
    expect(existsSync(json)).toBe(false);
  });
});
