import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";
import { createProfiler, type ProfileReport } from "../src/index";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "vd-profiler-tools-"));
const [log, nvtxTool, cuptiFolder] = [
  join(folder, "heard"),
  join(folder, "tool.so"),
  join(folder, "extras/CUPTI/lib64"),
];

function build(source: string, output: string): void {
  const path = here(`../../kernels-native/test/driver/${source}`);
  const result = spawnSync(compiler, ["-x", "c++", "-w", "-shared", "-fPIC", "-o", output, path], { encoding: "utf8" });
  if (result.status !== 0) throw new Error(result.stderr);
}

describe.skipIf(!hasCompiler)("NVIDIA's tools, by stand-ins (needs Linux and a C++ compiler)", () => {
  let report: ProfileReport & { text: string; page: string };
  beforeAll(async () => {
    mkdirSync(cuptiFolder, { recursive: true });
    build("nvtx-tool.c", nvtxTool);
    build("cupti-library.c", join(cuptiFolder, "libcupti.so"));
    const env = { NVTX_INJECTION64_PATH: nvtxTool, NVTX_TOOL_LOG: log, CUDA_PATH: folder };
    const program = await bundledProgram(here("support/tools-scenario.ts"));
    const result = spawnSync(process.execPath, [program], {
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
    if (result.status !== 0) throw new Error(`it ended with ${result.status ?? result.signal}: ${result.stderr}`);
    report = JSON.parse(result.stdout);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("hear of every scope and row by its name", () => {
    const heard = readFileSync(log, "utf8").trim().split("\n");
    const names = (what: string) => heard.filter((line) => line.startsWith(what)).map((line) => line.split(" ")[1]);
    expect(names("start")).toEqual(["work", "load", "run", "free"]);
    expect(names("push")).toEqual(["a.0.b"]);
    expect(names("end")).toHaveLength(4);
    expect(heard[0]!.split(" ")[2]).toBe(heard[heard.length - 1]!.split(" ")[2]);
  });

  it("tell of single kernels, in every format", () => {
    expect(report.kernels.map(({ name, count, totalUs }) => [name, count, totalUs])).toEqual([
      ["linear_f16", 1, 10],
      ["conv_f16", 2, 3.5],
    ]);
    expect(report.kernels[0]!.sharePercent).toBeCloseTo((100 * 10) / report.wallUs, 9);
    expect(report.text).toMatch(/\nlinear_f16 +\d+ +[\d.]+ µs +10\.0 µs/);
    expect(report.page).toContain("<h2>Kernels</h2>");
  });
});

it("without CUPTI the report says why there are no kernels", () => {
  const profiler = createProfiler({ kernels: true });
  profiler.scope("x", () => undefined);
  profiler.stopKernels();
  const { kernels, notes } = profiler.report();
  // On a machine with a GPU and CUPTI there is nothing to say, and no kernel was launched.
  expect(kernels).toEqual([]);
  expect(notes.filter((note) => /^Single kernels were not timed: .+\.$/.test(note)).length).toBe(notes.length - 1);
});
