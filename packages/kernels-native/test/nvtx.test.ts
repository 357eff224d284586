import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = await bundledProgram(here("driver/nvtx-scenario.ts"));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "vd-nvtx-"));
const tool = join(folder, "libtool.so");

/** Runs the scenario in a process of its own; what it says, and what the tool heard. */
function scenario(library: string | undefined, env: Record<string, string> = {}) {
  const log = join(folder, "heard.txt");
  rmSync(log, { force: true });
  const { NVTX_INJECTION64_PATH: _, ...inherited } = process.env;
  const result = spawnSync(process.execPath, [program], {
    encoding: "utf8",
    env: {
      ...inherited,
      ...env,
      ...(library === undefined ? {} : { NVTX_INJECTION64_PATH: library }),
      NVTX_TOOL_LOG: log,
    },
  });
  if (result.status !== 0) throw new Error(`it ended with ${result.status ?? result.signal}: ${result.stderr}`);
  const heard = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
  return { ...(JSON.parse(result.stdout) as { reason: string; listens: boolean }), heard };
}

describe.skipIf(!hasCompiler)("NVTX over a stand-in for a tool (needs Linux and a C++ compiler)", () => {
  beforeAll(() => {
    const args = ["-x", "c++", "-w", "-shared", "-fPIC", "-o", tool, here("driver/nvtx-tool.c")];
    const result = spawnSync(compiler, args, { encoding: "utf8" });
    if (result.status !== 0) throw new Error(result.stderr);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("a tool hears of ranges, which may overlap, and of every row", () => {
    const { reason, listens, heard } = scenario(tool);
    expect([reason, listens]).toEqual(["", true]);
    const [first, second] = [2n ** 60n + 1n, 2n ** 60n + 2n];
    expect(heard).toEqual([
      `start first ${first}`,
      `start second ${second}`,
      `end - ${first}`,
      `end - ${second}`,
      ...["push row.0 0", "pop - 0", "push row.1 0", "pop - 0"],
    ]);
  });

  test("what a tool leaves out is not called", () => {
    const { listens, heard } = scenario(tool, { NVTX_TOOL_PARTIAL: "1" });
    expect(listens).toBe(true);
    expect(heard.filter((line) => /push|pop/.test(line))).toEqual([]);
    expect(heard).toHaveLength(4);
  });

  test("without a tool, or with one that does not start, everything runs and the reason is a sentence", () => {
    expect(scenario(undefined)).toEqual({
      reason: "NVTX_INJECTION64_PATH names no tool's library.",
      listens: false,
      heard: [],
    });
    const missing = scenario(join(folder, "none.so"));
    expect(missing.listens).toBe(false);
    expect(missing.reason).toMatch(/none\.so could not be loaded \(.*none\.so/);
    expect(scenario(tool, { NVTX_TOOL_REFUSES: "1" }).reason).toBe(`${tool} refused to start.`);
  });
});
