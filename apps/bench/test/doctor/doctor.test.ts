import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Check } from "../../src/doctor/check";
import {
  cpuCheck,
  gpuChecks,
  memoryCheck,
  modelCheck,
  nodeCheck,
  peerCheck,
  systemCheck,
} from "../../src/doctor/checks";
import { TINY_SVD, vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

describe("checks", () => {
  it("tell an old Node.js, a foreign system, a plain CPU and little memory, with what to do", () => {
    expect(nodeCheck("20.19.0").verdict).toBe("ok");
    expect(nodeCheck("18.20.4")).toMatchObject({ verdict: "failed", advice: expect.stringContaining("20.19") });
    expect(systemCheck("linux", "x64").verdict).toBe("ok");
    expect(systemCheck("darwin", "arm64")).toMatchObject({ verdict: "failed", advice: expect.any(String) });
    expect(cpuCheck("2 cores, avx512 kernels.").verdict).toBe("ok");
    expect(cpuCheck("2 cores, plain kernels.")).toMatchObject({ verdict: "note", advice: expect.any(String) });
    expect(memoryCheck(2 ** 33, 2 ** 34).verdict).toBe("ok");
    expect(memoryCheck(2 ** 30, 2 ** 34)).toMatchObject({ verdict: "note", advice: expect.any(String) });
  });

  it("find a model or say what is missing", async () => {
    expect(await modelCheck(TINY_SVD)).toMatchObject({ verdict: "ok", found: expect.stringContaining("14 frames") });
    const folder = temporaryFolder();
    const missing = await modelCheck(folder);
    expect(missing).toMatchObject({ verdict: "failed", advice: expect.stringContaining("model_index.json") });
  });

  it("look for every GPU and for PyTorch", async () => {
    for (const check of await gpuChecks()) expect(check.verdict === "ok" || check.advice !== undefined).toBe(true);
    expect(peerCheck(join(temporaryFolder(), "no-python"))).toMatchObject({ verdict: "note" });
  });
});

describe("vd-bench doctor", () => {
  it("measures and prints every check with a verdict", async () => {
    const json = join(temporaryFolder(), "out.json");
    const { status, stdout } = await vdBench(["doctor", "--threads", "2", "--json", json]);
    const checks = JSON.parse(readFileSync(json, "utf8")) as Check[];
    // How fast this machine is depends on what else it does.
    expect(checks.filter(({ verdict }) => verdict === "failed")).toEqual([]);
    expect(status).toBe(checks.some(({ verdict }) => verdict === "slow") ? 1 : 0);
    for (const { verdict, advice } of checks) expect(advice !== undefined).toBe(verdict !== "ok");
    for (const name of ["Node.js", "system", "CPU", "memory", "CPU copy", "CPU matrix product", "model", "PyTorch"]) {
      expect(checks.map((check) => check.name)).toContain(name);
      expect(stdout).toContain(name);
    }
    const rate = (name: string) => Number.parseFloat(checks.find((check) => check.name === name)!.found);
    expect(rate("CPU copy")).toBeGreaterThan(0.1);
    expect(rate("CPU matrix product")).toBeGreaterThan(0.001);
  });

  it("ends with 1 when something will not work", async () => {
    const { status, stdout } = await vdBench(["doctor", "--threads", "2", "-m", temporaryFolder()]);
    expect(status).toBe(1);
    expect(stdout).toContain("failed");
  });
});
