import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = await bundledProgram(here("driver/variant-scenario.ts"));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "vd-variants-"));
/** Threads that a program of 256 rows is planned by, beside the one that compiles it. */
const others = Math.min(8, availableParallelism()) - 1;
let numRuns = 0;

function build(language: string, source: string, output: string): void {
  const args = ["-x", language, "-w", "-shared", "-fPIC", "-o", output, here(source)];
  const result = spawnSync(compiler, args, { encoding: "utf8" });
  if (result.status !== 0) throw new Error(result.stderr);
}

/** What the scenario prints. mostThreads: how many the system starts for compiling; all of them by default. */
function scenario(mostThreads?: number) {
  const images = join(folder, `images-${numRuns++}`);
  mkdirSync(images);
  const few = mostThreads === undefined ? {} : { LD_PRELOAD: join(folder, "few-threads.so") };
  const args = [program, images, ...(mostThreads === undefined ? [] : [`${mostThreads}`])];
  const env = { ...process.env, ...few, LD_LIBRARY_PATH: folder };
  const result = spawnSync(process.execPath, args, { encoding: "utf8", env });
  if (result.status !== 0) throw new Error(`it ended with ${result.status ?? result.signal}: ${result.stderr}`);
  return JSON.parse(result.stdout);
}

describe.skipIf(!hasCompiler)("variants of many rows (needs Linux and a C++ compiler)", () => {
  beforeAll(() => {
    build("c++", "driver/stand-in.c", join(folder, "libcuda.so.1"));
    build("c", "driver/few-threads.c", join(folder, "few-threads.so"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("are chosen by several threads as by one, and the first row without any is the one that is named", () => {
    const { each, together, refused, refusedEach, failed } = scenario();
    const variants = ["copy_vector", "copy_scalar", ...Array(3).fill("elementwise_f32_compiled")];
    expect(each.map(({ variant }: { variant: string }) => variant)).toEqual(variants);
    expect(refusedEach[4].variant).toBe("elementwise_f32_program");
    expect([together, refused]).toEqual([true, true]);
    for (const { code } of failed) expect(code).toBe("unsupported");
    const named = failed.map(({ message }: { message: string }) => /row \d+/.exec(message)![0]);
    expect(named).toEqual(["row 90", "row 90", "row 31"]);
  });

  test("are chosen by the threads that the system starts, be it none", () => {
    for (const most of new Set([0, Math.min(1, others), others])) {
      const { short, together, threads, failed } = scenario(most);
      // Programs of one row need no others.
      expect([short, together]).toEqual([[], true]);
      const refused = Array(most < others ? 1 : 0).fill("refused");
      expect(threads).toEqual([...Array(most).fill("started"), ...refused]);
      expect(failed.map(({ code }: { code: string }) => code)).toEqual(Array(3).fill("unsupported"));
    }
  });
});
