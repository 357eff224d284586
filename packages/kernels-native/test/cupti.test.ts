import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = await bundledProgram(here("driver/cupti-scenario.ts"));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const toolkit = mkdtempSync(join(tmpdir(), "vd-cupti-"));

// biome-ignore lint/suspicious/noExplicitAny: plain data of a scenario
function scenario(env: Record<string, string>): any {
  const result = spawnSync(process.execPath, [program], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (result.status !== 0) throw new Error(`it ended with ${result.status ?? result.signal}: ${result.stderr}`);
  return JSON.parse(result.stdout);
}

describe.skipIf(!hasCompiler)("CUPTI over a stand-in (needs Linux and a C++ compiler)", () => {
  beforeAll(() => {
    const folder = join(toolkit, "extras/CUPTI/lib64");
    mkdirSync(folder, { recursive: true });
    const source = here("driver/cupti-library.c");
    const args = ["-x", "c++", "-w", "-shared", "-fPIC", "-o", join(folder, "libcupti.so"), source];
    const result = spawnSync(compiler, args, { encoding: "utf8" });
    if (result.status !== 0) throw new Error(result.stderr);
  });
  afterAll(() => rmSync(toolkit, { recursive: true, force: true }));

  test("kernels are summed by name, the longest first, and each is told of once", () => {
    const once = [
      { name: "linear_f16", count: 1, totalUs: 10 },
      { name: "conv_f16", count: 2, totalUs: 3.5 },
    ];
    const twice = once.map(({ name, count, totalUs }) => ({ name, count: 2 * count, totalUs: 2 * totalUs }));
    // The stand-in has the same kernels and one range again whenever it is asked: by the count of ranges, and by stopping.
    const expected = { reason: "", again: "", first: once, ranges: 2, rest: twice, last: [] };
    expect(scenario({ CUDA_PATH: toolkit })).toEqual(expected);
  });

  test("a Python wheel's folder serves as well, where the library has its soname alone", () => {
    const wheel = mkdtempSync(join(tmpdir(), "vd-cupti-wheel-"));
    mkdirSync(join(wheel, "lib"));
    copyFileSync(join(toolkit, "extras/CUPTI/lib64/libcupti.so"), join(wheel, "lib/libcupti.so.13"));
    expect(scenario({ CUDA_PATH: wheel })).toMatchObject({ reason: "" });
    rmSync(wheel, { recursive: true });
  });

  test("a refusal is a sentence, and nothing is recorded", () => {
    expect(scenario({ CUDA_PATH: toolkit, CUPTI_REFUSES: "1" })).toMatchObject({
      reason: "CUPTI does not record kernels: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (error 35).",
      first: [],
      ranges: 0,
      last: [],
    });
  });
});
