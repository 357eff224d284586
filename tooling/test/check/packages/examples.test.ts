import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const examples = join(root, "examples");
const folder = mkdtempSync(join(tmpdir(), "vd examples "));

/** What each example must say. */
const SAYS: Readonly<Record<string, readonly RegExp[]>> = {
  "kernels-native.cjs": [/^cpu CPU: usable/m, /\d+ binaries have the SHA-256/, /read back: 1 2 3/],
  "tensor.mjs": [/same result: true/, /working memory: \d+ bytes/, /in the file: y/],
  "hub.mjs": [/to download: unet\/\S+fp16\.safetensors$/m, /weights of 1 file: f32/, /missing: 0 unknown: 0/],
  "sampling.mjs": [/^euler: within 0\.000 of the data, linear/m, /guidance of 5 frames: 1 2 3 2 1/],
  "media.mjs": [/as Pillow does: 48 x 32/, /clip\.mp4: written by builtin/, /frame-%d\.png: written by sharp/],
  "vae-opt.mjs": [/PSNR of the first frame: [23]\d\.\d dB/, /chunks give the same frames: true/],
  "conformance.mjs": [/the contract's cases: \d+ passed, 0 failed/, /wide rows: 1 passed, 0 failed/],
  "profiler.mjs": [/two layers/, /linear/, /scopes in the report: true/],
  "svd-pipeline.mjs": [/denoise 4 of 4/, /6 frames of 128 x 128 at 7 a second/],
};

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

  test.each(Object.entries(SAYS))("%s", (name, patterns) => {
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
    expect(programs.filter((name) => !SAYS[name])).toEqual([]);
    const readme = readFileSync(join(examples, "README.md"), "utf8");
    expect([...programs, "generate.json"].filter((name) => !readme.includes(`examples/${name}`))).toEqual([]);
  });
});
