// Makes an op with `pnpm kernel new`, sees its tests fail, writes a trivial kernel, sees them pass, and throws it away: in this
// checkout, which must have no changes of its own to generated files. Behind `pnpm check:new-op`. The addon is compiled once for the
// new op, whose structs every op sees, and the op's own file once more with the formula.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, ROOT, runMain } from "../build/workspace.mjs";

const ID = "third_power";
const FOLDER = join(ROOT, "packages/kernels-native/ops", ID);

/** The formula in each of its languages: file, what stands there, what is written. */
const FORMULA = [
  [`${ID}.reference.ts`, /throw new Error\([^)]*\)[^;]*;/, "return x ** 3;"],
  [`${ID}.cpu.cc`, /value_of\(float\) \{[^}]*\}/, "value_of(float x) { return x * x * x; }"],
  [`${ID}.cu`, /value_of\(float\) \{[^}]*\}/, "value_of(float x) { return x * x * x; }"],
] as const;

/** Runs a program with this terminal and returns its exit status. */
const run = (program: string, ...words: string[]): number =>
  spawnSync(program, words, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
const kernel = (...words: string[]) => run(process.execPath, "--import", "tsx", "tooling/kernel/main.ts", ...words);
const generate = () => run(process.execPath, "--import", "tsx", "tooling/generate/main.ts");

function expectStatus(what: string, isRight: boolean): void {
  console.log(`${isRight ? "ok" : "FAILED"}: ${what}`);
  if (!isRight) throw new Failure(what);
}

function writeFormula(): void {
  for (const [name, from, to] of FORMULA) {
    const path = join(FOLDER, name);
    const text = readFileSync(path, "utf8");
    const written = text.replace(from, to);
    expectStatus(`${name} has a place for the formula`, written !== text);
    writeFileSync(path, written);
  }
}

function checkDeviceCode(): void {
  if (spawnSync("nvcc", ["--version"], { stdio: "ignore" }).status !== 0) {
    console.log("left out: the kernel, since nvcc is not there");
    return;
  }
  const words = ["-std=c++20", "-cubin", "-arch=sm_80", "-o", join(FOLDER, "check.cubin"), join(FOLDER, `${ID}.cu`)];
  expectStatus("the kernel compiles", run("nvcc", ...words) === 0);
}

await runMain("check:new-op", async () => {
  expectStatus(`an op is made: ${ID}`, kernel("new", ID) === 0);
  try {
    expectStatus(
      "its files have the project's form",
      run(process.execPath, "node_modules/@biomejs/biome/bin/biome", "check", FOLDER) === 0,
    );
    expectStatus("its tests fail before the formula is written", kernel("test", ID) !== 0);
    writeFormula();
    expectStatus("its tests pass with the formula", kernel("test", ID) === 0);
    checkDeviceCode();
  } finally {
    rmSync(FOLDER, { recursive: true, force: true });
    rmSync(join(ROOT, `docs/ops/${ID}.md`), { force: true });
    generate();
  }
});
