import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { loadFixture } from "../../goldens/fixture";
import { bundledProgram } from "../../testing/program";
import { FixtureFolder } from "./fixture-folder";

const folder = new FixtureFolder();
afterAll(() => folder.remove());
/** Started at once, for what ends before a kind is loaded. */
const program = await bundledProgram(fileURLToPath(new URL("../../goldens/main.ts", import.meta.url)));
const launcher = fileURLToPath(new URL("../../goldens/launch.mjs", import.meta.url));

/** Runs the command in `cwd` as a shell would, or, with `initCwd`, as a package manager's script does. */
function goldens(args: string[], cwd: string, initCwd?: string) {
  const { npm_lifecycle_event: _event, INIT_CWD: _folder, ...env } = process.env;
  const script = initCwd ? { npm_lifecycle_event: "goldens", INIT_CWD: initCwd } : {};
  const run = spawnSync(process.execPath, [launcher, ...args], { cwd, env: { ...env, ...script }, encoding: "utf8" });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

folder.copy("preprocess/preprocess", "good/sub/preprocess");
const tampered = folder.copy("preprocess/preprocess", "bad/preprocess");
{
  const fixture = loadFixture(tampered);
  const bytes = readFileSync(fixture.tensorsPath);
  const stored = fixture.bytes("out.small.resize.64x96");
  fixture.close();
  bytes[bytes.indexOf(stored)]! ^= 1;
  writeFileSync(fixture.tensorsPath, bytes);
}

test("a relative folder is taken from where the user stands; passes are listed", () => {
  for (const run of [goldens(["good"], folder.path), goldens(["good"], "/", folder.path)]) {
    expect(run).toMatchObject({ status: 0 });
    expect(run.stdout).toMatch(/^pass +sub\/preprocess +worst \S+ maxabs \S+ \(tolerance \S+\), 19 tensors/m);
    expect(run.stdout).toMatch(/^1 passed, 0 failed, 0 not run$/m);
  }
});

test("a tensor that differs gives status 1 and its name", () => {
  const run = goldens(["bad"], folder.path);
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(/first diverging tensor: out\.small\.resize\.64x96 exact 1 \(tolerance 0\); 1 of 19 fail/);
});

test("an unknown kind that is not on the list gives status 1", () => {
  folder.tiny("strange/golden", { kind: "no_such_kind" });
  const run = goldens(["strange"], folder.path);
  expect(run.status).toBe(1);
  expect(run.stdout).toContain("stopped: unknown kind no_such_kind: add one in tooling/goldens/kinds");
  expect(run.stdout).toMatch(/^0 passed, 1 failed, 0 not run$/m);
});

test("--json prints the same for programs", () => {
  const run = goldens(["bad", "--json", "--dtype", "float16"], folder.path);
  expect(run.status).toBe(1);
  const { dtype, results } = JSON.parse(run.stdout);
  expect(dtype).toBe("float16");
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ status: "fail", firstFailure: { name: "out.small.resize.64x96", error: 1 } });
});

test.each([
  [["nowhere"], /nowhere: expected a folder/],
  [["good", "bad"], /expected one DIR at most/],
  [["--device", "tpu"], /--device: expected cpu, cuda, got tpu/],
  [["--dtype", "int8"], /--dtype: expected float32, float16, bfloat16, got int8/],
  [["--unknown"], /Unknown option '--unknown'/],
  [["empty"], /expected NAME\.json with NAME\.safetensors, found none/],
])("%j is wrong usage: status 2 and a sentence", (args, words) => {
  folder.write("empty/readme.txt", "");
  const run = spawnSync(process.execPath, [program, ...args], { cwd: folder.path, encoding: "utf8" });
  expect(run.status).toBe(2);
  expect(run.stderr).toMatch(words);
  expect(run.stderr).toContain("Usage: pnpm goldens");
  expect(run.stderr).not.toContain("    at ");
});
