import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const workflows = readdirSync(join(root, ".github/workflows")).map((name) => `.github/workflows/${name}`);
const manifest = JSON.parse(read("package.json")) as { engines: { node: string }; scripts: Record<string, string> };

test("CI runs on the oldest Node.js that the packages allow", () => {
  expect(`>=${read(".nvmrc").trim()}`).toBe(manifest.engines.node);
});

test.each([...workflows, ".ci/run", ".ci/device-code"])("%s starts programs and scripts that are there", (path) => {
  const text = read(path);
  const files = [...text.matchAll(/(?:^|[\s|])(\.ci\/[\w-]+|tooling\/[\w./-]+\.mjs)/gm)].map(([, file]) => file!);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  const scripts = [...text.matchAll(/pnpm(?:@[\d.]+)? (?:run )?([a-z]+(?:[:-][a-z0-9-]+)*)/g)].map(([, name]) => name!);
  const ofPnpm = ["install", "exec", "changeset"];
  expect(scripts.filter((name) => !ofPnpm.includes(name) && manifest.scripts[name] === undefined)).toEqual([]);
  expect(files.length + scripts.length).toBeGreaterThan(0);
});

test("every image of the CUDA toolkit is the same", () => {
  const texts = [...workflows, ".devcontainer/Dockerfile"].map(read);
  const images = texts.flatMap((text) => [...text.matchAll(/nvidia\/cuda:\S+/g)].map(([image]) => image));
  expect(images.length).toBeGreaterThan(2);
  expect(new Set(images).size).toBe(1);
});

test.skipIf(!existsSync(join(root, ".git")))("generated files are folded in diffs (needs a git checkout)", () => {
  const git = (...words: string[]) => execFileSync("git", words, { cwd: root, encoding: "utf8" });
  const generated = git(
    "ls-files",
    "*.generated.ts",
    "*/native/generated/*",
    "docs/ops.md",
    "docs/ops/*",
    "docs/benchmarks/*",
  );
  const paths = generated.trim().split("\n");
  expect(paths.length).toBeGreaterThan(10);
  const attributes = git("check-attr", "linguist-generated", "--", ...paths)
    .trim()
    .split("\n");
  expect(attributes.filter((line) => !line.endsWith(": linguist-generated: set"))).toEqual([]);
});
