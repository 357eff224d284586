import { spawnSync } from "node:child_process";
import { appendFileSync, copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "vd loader "));
let program = "";

/** Runs a scenario in a process of its own; its last line as data. */
function scenario(name: string, { flags = [] as string[], env = {} as Record<string, string> } = {}) {
  const result = spawnSync(process.execPath, [...flags, program, name], {
    encoding: "utf8",
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  const ending = result.signal ?? result.status;
  expect(ending, `${name} ended with ${ending}: ${result.stderr}`).toBe(0);
  return JSON.parse(result.stdout.trim().split("\n").at(-1)!);
}

describe("the addon, loaded and left in every way", () => {
  beforeAll(async () => {
    const { stageLoader } = await import("../../../check/nodes/stage.mjs");
    program = await stageLoader(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("100 workers are started and killed while their ops run", () => {
    expect(scenario("workers")).toMatchObject({ killed: 100, right: 10, after: true });
  });

  test("the last worker that had it is gone, and it is loaded again", () => {
    expect(scenario("reload")).toMatchObject({ after: true });
  });

  test("twice from one file, and once more from a copy", () => {
    expect(scenario("twice")).toMatchObject({ same: true, after: true });
  });

  test("the process exits during a run", () => {
    expect(scenario("exit")).toEqual({ leaving: true });
  });

  test("Node.js with its permission model gets a sentence", () => {
    const denied = scenario("load", { flags: ["--experimental-permission", "--allow-fs-read=*"] });
    expect(denied.code).toBe("unsupported");
    expect(denied.message).toContain("--allow-addons");
  });

  test("with VD_VERIFY=1 a changed binary is refused, and without it nobody looks", () => {
    const binary = join(dirname(program), "prebuilds", `${process.platform}-${process.arch}`, "vd-native.node");
    copyFileSync(binary, `${binary}.whole`);
    expect(scenario("load", { env: { VD_VERIFY: "1" } })).toMatchObject({ right: true });
    appendFileSync(binary, "x");
    try {
      const refused = scenario("load", { env: { VD_VERIFY: "1" } });
      expect(refused.code).toBe("io");
      expect(refused.message).toMatch(/vd-native\.node\] expected SHA-256 [0-9a-f]{64} .*, got [0-9a-f]{64}/);
      expect(scenario("load")).toMatchObject({ right: true });
    } finally {
      renameSync(`${binary}.whole`, binary);
    }
    expect(existsSync(`${binary}.whole`)).toBe(false);
  });
});
