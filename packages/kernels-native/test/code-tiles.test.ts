import { execFile, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { objectsOf } from "../../../tooling/build/addon/sources.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = spawnSync(compiler, ["--version"]).status === 0;

/** What the kernels are made of, below native. */
const SOURCES = [
  ...[
    "code_kernels.simd",
    "code_tiles.simd",
    "kernels.simd",
    "code_matrix",
    "panels",
    "pack_cache",
    "cpu_features",
  ].map((name) => `cpu/${name}.cc`),
  ...(process.arch === "x64" ? ["cpu/code_tiles_avx2.cc", "cpu/code_tiles_avx512.cc"] : []),
  ...["core/thread_pool.cc", "core/processors.cc"],
].map((path) => here(`../native/${path}`));

describe.skipIf(!hasCompiler)("matrix kernels of 8-bit codes (needs a C++ compiler)", () => {
  let folder = "";
  let lines: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "vd-code-tiles-"));
    const objects = [here("code-tiles/main.cc"), ...SOURCES].flatMap((source) =>
      objectsOf(source).map(({ flags }) => ({ source, flags })),
    );
    const common = ["-std=c++20", "-O1", "-ffp-contract=off", ...(process.arch === "arm64" ? ["-fsigned-char"] : [])];
    const paths = await Promise.all(
      objects.map(async ({ source, flags }, i) => {
        const object = join(folder, `${i}.o`);
        await promisify(execFile)(compiler, [...common, ...flags, "-c", "-o", object, source]);
        return object;
      }),
    );
    await promisify(execFile)(compiler, ["-o", join(folder, "code-tiles"), ...paths, "-lpthread"]);
    const { stdout, stderr, status } = spawnSync(join(folder, "code-tiles"), { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr || `code-tiles ended with ${status}`);
    lines = stdout.trimEnd().split("\n");
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("multiply as plain loops do, sums of integers exactly, whatever the processor would choose", () => {
    const baseline = process.arch === "arm64" ? ["i8 i8", "f8e4m3 f32"] : ["i8 i16", "f8e4m3 f32"];
    expect(lines).toEqual(expect.arrayContaining(baseline));
    expect(lines.every((line) => /^(i8 (i8|i16|sdot|vnni|vnni256)|f8e4m3 f32)$/.test(line))).toBe(true);
  });
});
