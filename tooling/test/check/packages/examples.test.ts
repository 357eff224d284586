import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { EXAMPLES } from "../../../check/examples.mjs";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const examples = join(root, "examples");
const folder = mkdtempSync(join(tmpdir(), "vd examples "));

function run(words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe("examples, as users run them", () => {
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.entries(EXAMPLES))("%s", (name, patterns) => {
    const said = run([join(examples, name), `files of ${name}`]);
    for (const pattern of patterns) expect(said).toMatch(pattern);
  });

  test("the pictures of the pipeline's example are there", () => {
    expect(readdirSync(join(folder, "files of svd-pipeline.mjs"))).toEqual(
      Array.from({ length: 6 }, (_, i) => `frame-${i}.png`),
    );
  });

  test("generate.json makes an MP4", () => {
    run([join(root, "apps/generate/dist/cli.js"), "--config", join(examples, "generate.json")]);
    expect(readFileSync(join(folder, "clip.mp4")).includes("moov")).toBe(true);
  });

  test("every program in the folder is tried and listed", () => {
    const programs = readdirSync(examples).filter((name) => /\.(mjs|cjs|js)$/.test(name));
    expect(programs.filter((name) => !(name in EXAMPLES))).toEqual([]);
    const readme = readFileSync(join(examples, "README.md"), "utf8");
    expect([...programs, "generate.json"].filter((name) => !readme.includes(`examples/${name}`))).toEqual([]);
  });
});
