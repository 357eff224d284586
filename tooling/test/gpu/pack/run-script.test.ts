import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../../gpu/pack/run.sh", import.meta.url));

describe.skipIf(process.platform !== "linux")("the pack's run script (a pack is for Linux)", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "vd run ")));
  const [pack, stand] = [join(root, "a pack"), join(root, "stand")];
  const log = join(root, "log");

  beforeAll(() => {
    // Unpacked already, with a Node that only says how it was called, and fails where it is told to.
    mkdirSync(join(root, "work/name"), { recursive: true });
    for (const folder of [pack, stand]) mkdirSync(folder);
    copyFileSync(script, join(pack, "run"));
    writeFileSync(join(pack, "name"), "name\n");
    writeFileSync(join(root, "work/name/ready"), "");
    const node = join(root, "work/name/node");
    writeFileSync(
      node,
      '#!/bin/sh\necho "$PWD: $(basename "$1") $*" >> "$LOG"\ncase "$*" in *"$FAILS"*) exit 1 ;; esac\n',
    );
    for (const path of [node, join(pack, "run")]) chmodSync(path, 0o755);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  /** How the programs were called, and the script's status. */
  function run(words: readonly string[], env: Record<string, string> = {}) {
    rmSync(log, { force: true });
    const { status } = spawnSync("../a pack/run", words, {
      cwd: stand,
      env: { ...process.env, VD_PACK_DIR: join(root, "work"), LOG: log, FAILS: "nothing", ...env },
    });
    return { status, calls: readFileSync(log, "utf8").trimEnd().split("\n") };
  }

  test("programs run where the user stands, with the bundled model unless another is named", () => {
    const { status, calls } = run(["sizes", "--json", "sizes.json"]);
    expect(status).toBe(0);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatch(/stand: sizes\.mjs .*--model .*models\/tiny-svd --json sizes\.json$/);
  });

  test("report runs every program, from a relative path and in folders with spaces, and joins what was measured", () => {
    const { status, calls } = run(["report"], { VD_REPORT_DIR: "results" });
    expect(status).toBe(0);
    const programs = new Set(calls.map((call) => /: (\w+)\.mjs/.exec(call)?.[1]));
    for (const name of ["goldens", "suite", "measure", "merge", "bench", "sizes", "overhead", "kernels", "join"])
      expect(programs).toContain(name);
    expect(calls.filter((call) => call.includes("suite.mjs"))).toHaveLength(3);
    const measured = calls.filter((call) => call.includes("bench.mjs measure"));
    expect(measured.map((call) => /--parts (\S+)/.exec(call)?.[1])).toEqual([
      "unet",
      "clip,encode,vae",
      "start",
      "e2e",
    ]);
    const whole = calls.filter((call) => /bench\.mjs e2e|--parts e2e/.test(call));
    expect(whole).toHaveLength(2);
    for (const call of whole) expect(call).toContain("--e2e-rounds 3");
    for (const call of measured) {
      const [file] = /[^/]+\.json/.exec(call.slice(call.indexOf("-o ")))!;
      expect(call).toContain(`-o ${join(stand, "results", file!)}`);
      expect(calls.find((each) => each.includes("join.mjs"))).toContain(join(stand, "results", file!));
    }
  });

  test("what fails gives the status of all, and the rest still runs", () => {
    const all = run(["all"], { FAILS: "compute_80" });
    expect(all.status).toBe(1);
    expect(all.calls.some((call) => call.includes("merge.mjs"))).toBe(true);
    const report = run(["report"], { FAILS: "--parts unet" });
    expect(report.status).toBe(1);
    expect(report.calls.some((call) => call.includes("sizes.mjs"))).toBe(true);
    expect(report.calls.some((call) => call.includes("join.mjs"))).toBe(true);
  });
});
