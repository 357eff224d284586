import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kernelPattern, profileCommand } from "../../kernel/bench-op";
import { writeOp } from "../../kernel/new-op";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ROOT = here("../../..");
const compiler = process.env.CXX ?? "g++";
const hasCompiler = spawnSync(compiler, ["--version"]).status === 0;
const run = promisify(execFile);

/** What the generator of ops reads and writes. */
const COPIED = [
  ...["tooling/build", "tooling/generate", "tooling/measure", "apps/bench/src", "reports", "docs/kernels"],
  ...["contract", "device", "native", "ops"].map((name) => `packages/kernels-native/${name}`),
  "packages/tensorrt/src/export/ops/forms.ts",
  ...["package.json", "tsconfig.json", "tsconfig.base.json"],
];
const ID = "third_power";
const POOL = ["thread_pool.cc", "processors.cc"].map((name) => join(ROOT, "packages/kernels-native/native/core", name));

/** A copy of what an op's files follow from. */
function copyOfTree(): string {
  const root = mkdtempSync(join(tmpdir(), "vd-new-op-"));
  for (const path of COPIED) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"), "junction");
  return root;
}

test("an op whose folder cannot be made is refused in a sentence, and leaves nothing", () => {
  const root = mkdtempSync(join(tmpdir(), "vd-no-op-"));
  try {
    expect(() => writeOp(ID, root)).toThrow(
      `[${join(root, "packages/kernels-native/ops", ID)}] expected a folder that can be made and written, got no such file or folder`,
    );
    expect(readdirSync(join(root, "packages/kernels-native/build"))).toEqual([]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("a name that is taken is said to be so, and what makes the rest of an op that was interrupted", () => {
  const root = mkdtempSync(join(tmpdir(), "vd-taken-op-"));
  try {
    const folder = (id: string) => join(root, "packages/kernels-native/ops", id);
    for (const id of [ID, "conv"]) mkdirSync(folder(id), { recursive: true });
    expect(() => writeOp(ID, root)).toThrow(
      `[OP] expected a name that no op has yet, got "${ID}". Its files lie in ${folder(ID)}, but nothing is generated from them yet: pnpm gen writes what follows from them.`,
    );
    expect(() => writeOp("conv", root)).toThrow(`got "conv". Its files lie in ${folder("conv")}.`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

describe("a new op", () => {
  let root = "";
  const file = (name: string) => join(root, "packages/kernels-native/ops", ID, name);
  const edit = (name: string, from: RegExp, to: string) => {
    const text = readFileSync(file(name), "utf8");
    expect(text).toMatch(from);
    writeFileSync(file(name), text.replace(from, to));
  };
  const node = (...words: string[]) => run(process.execPath, ["--import", "tsx", ...words], { cwd: ROOT });
  const reference = async (...numbers: number[]): Promise<number[]> =>
    JSON.parse((await node(here("reference.ts"), root, ID, ...numbers.map(String))).stdout);

  /** Objects that do not change with the formula. */
  const made = new Map<string, Promise<string>>();
  const once = (source: string) => made.get(source) ?? made.set(source, compiled(source)).get(source)!;

  /** Compiles one file of C++ and returns the object's path. */
  async function compiled(source: string): Promise<string> {
    const object = join(root, `${basename(source)}.o`);
    const names = ["-DVD_ARGS=ThirdPowerArgs", `-DVD_REFERENCE=${ID}_reference`];
    const flags = ["-std=c++20", "-I", join(root, "packages/kernels-native"), ...names];
    await run(compiler, [...flags, "-c", "-o", object, source]);
    return object;
  }

  /** Results by the definition, compiled alone. */
  async function definition(...numbers: number[]): Promise<number[]> {
    const program = join(root, "one-op");
    const objects = await Promise.all([once(here("one-op.cc")), ...POOL.map(once), compiled(file(`${ID}.cpu.cc`))]);
    await run(compiler, ["-o", program, ...objects, "-pthread"]);
    const { stdout } = await run(program, numbers.map(String));
    return stdout.trim().split("\n").map(Number);
  }

  beforeAll(async () => {
    root = copyOfTree();
    writeOp(ID, root);
    await node(
      "--eval",
      `import(${JSON.stringify(join(root, "tooling/generate/ops/files.ts"))}).then(async ({ files }) => {
      const { writeStale } = await import(${JSON.stringify(join(root, "tooling/generate/generated-file.ts"))});
      writeStale(await files());
    })`,
    );
  }, 120_000);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test("has a place in everything that is generated", () => {
    const text = (path: string) => readFileSync(join(root, path), "utf8");
    expect(text("packages/kernels-native/contract/ops.generated.ts")).toContain("third_power: thirdPower,");
    expect(text("packages/kernels-native/native/generated/op_planners.h")).toContain("third_power_cuda_variants(");
    expect(text("packages/tensor/src/graph-ops.generated.ts")).toContain(
      "thirdPower(options: ThirdPowerOptions): Tensor",
    );
    expect(text(`docs/ops/${ID}.md`)).toContain("y = third_power(x)");
  });

  test("has files that the type checker, the linter and the formatter take as they are", async () => {
    const sources = ["op", "cases", "reference"].map((kind) => file(`${ID}.${kind}.ts`));
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const base = JSON.parse(readFileSync(join(ROOT, "tsconfig.base.json"), "utf8"));
    const config = { compilerOptions: { ...base.compilerOptions, noEmit: true, types: [] }, files: sources };
    writeFileSync(join(root, "tsconfig.op.json"), JSON.stringify(config));
    await run(process.execPath, [tsc, "-p", join(root, "tsconfig.op.json")]);
    const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
    // Its own git is not there, and not asked.
    const { vcs: _, ...rules } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8"));
    writeFileSync(join(root, "biome.json"), JSON.stringify(rules));
    const checked = spawnSync(process.execPath, [biome, "check", ...sources], { cwd: root, encoding: "utf8" });
    expect(checked.status, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stderr).toContain("Checked 3 files");
  });

  test("fails until its formula is written, and does not compute anything before", async () => {
    await expect(reference(2)).rejects.toThrow(/expected the formula of third_power\(2\), it is not written yet/);
    if (hasCompiler) expect(await definition(2)).toEqual([Number.NaN]);
  });

  test("has the results of its formula once that is written", async () => {
    edit(`${ID}.reference.ts`, /throw new Error\([^)]*\)[^;]*;/, "return x ** 3;");
    edit(`${ID}.cpu.cc`, /value_of\(float\) \{[^}]*\}/, "value_of(float x) { return x * x * x; }");
    const numbers = [2, -1.5, 0];
    expect(await reference(...numbers)).toEqual(numbers.map((x) => x ** 3));
    if (hasCompiler) expect(await definition(...numbers)).toEqual(numbers.map((x) => x ** 3));
  });

  test.skipIf(!hasCompiler)("has a planner that compiles (needs a C++ compiler)", async () => {
    await run(compiler, ["-std=c++20", "-fsyntax-only", file(`${ID}.cuda.cc`)]);
  });

  test("is written whole or not at all", () => {
    const ops = join(root, "packages/kernels-native/ops");
    const before = readdirSync(ops);
    for (const name of ["", "Conv", "a__b", "9x", "../x", "conv", "class", "template", "input", "a".repeat(41)])
      expect(() => writeOp(name, root), name).toThrow(/^\[OP\] expected a name/);
    expect(readdirSync(ops)).toEqual(before);
  });
});

describe("profiling one op", () => {
  test("takes its kernels and no longer name's", () => {
    const attention = new RegExp(kernelPattern("attention"));
    expect(attention.test("attention_mma_f16_d64")).toBe(true);
    expect(attention.test("attention_backward_dq_f16_d64")).toBe(false);
    expect(new RegExp(kernelPattern("guide")).test("guide_scalar")).toBe(true);
  });

  test("is a command for a shell", () => {
    expect(profileCommand("ncu", "guide", ["svd-xt's"])).toBe(
      "ncu --set full --target-processes all --kernel-name regex:^guide_ --export guide.ncu-rep --force-overwrite " +
        "node --import tsx apps/bench/src/cli.ts ops 'svd-xt'\\''s' --op guide --device cuda --no-peers --rounds 1 --repeats 1",
    );
    expect(profileCommand("nsys", "attention", [])).toContain("nsys profile --trace cuda,nvtx");
    expect(profileCommand("ncu", "attention", [])).toContain("'regex:^attention_(?!backward|f8|f8_codes|q8)'");
  });
});
