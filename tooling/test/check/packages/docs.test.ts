import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ERROR_CODES } from "@vd/kernels-native/contract";
import { describe, expect, test } from "vitest";
import { libraries, publicPackages } from "../../../build/packages.mjs";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const packages = publicPackages();
const readmes = packages
  .map(({ dir }) => relative(root, join(dir, "README.md")))
  .filter((path) => existsSync(join(root, path)));
const pages = [
  ...readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"],
  ...readmes,
];

/** Fenced blocks of a language in a page. */
const blocks = (path: string, language: string) =>
  [...read(path).matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text]) => text!);

describe("pages", () => {
  test.each(pages)("%s links to files that are there", (page) => {
    const links = [...read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link]) => link!);
    const local = links.filter((link) => !/^[a-z]+:/.test(link));
    expect(local.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
  });
});

describe("commands", () => {
  const { packageManager, scripts } = JSON.parse(read("package.json")) as {
    packageManager: string;
    scripts: Record<string, string>;
  };
  const clonePages = ["README.md", "docs/quick-start.md", "examples/README.md"];

  /** Lines of shell blocks, and what stands in code marks and begins like a command. */
  const commandsOf = (path: string): string[] => [
    ...blocks(path, "sh").flatMap((text) => text.trim().split("\n")),
    ...[...read(path).matchAll(/`((?:npx|pnpm) [^`]+)`/g)].map(([, text]) => text!),
  ];

  test.each(clonePages)(
    "of %s work as typed in a fresh clone: no bare pnpm, scripts and files that are there",
    (path) => {
      const commands = commandsOf(path);
      expect(commands.length).toBeGreaterThan(0);
      expect(commands.filter((text) => text.startsWith("pnpm "))).toEqual([]);
      for (const text of commands.filter((line) => line.includes("pnpm@"))) {
        const [, manager, script] = /^npx -y (pnpm@[\d.]+) ([\w:-]+)/.exec(text) ?? [];
        expect(manager, text).toBe(packageManager);
        expect(Object.keys(scripts), text).toContain(script);
        const pictures = text.match(/\S+\.(?:png|json)(?=\s|$)/g) ?? [];
        const inputs = pictures.filter((file) => /^(models|examples|reports)\//.test(file));
        expect(
          inputs.filter((file) => !existsSync(join(root, file))),
          text,
        ).toEqual([]);
      }
    },
  );

  test("nowhere take packages from npm, which has none yet, without saying so", () => {
    const silent = pages.filter((path) => {
      const isFromNpm = /npx @vd\/|npm install @vd\/|npmjs\.com\/package\/@vd/.test(read(path));
      return isFromNpm && !read(path).includes("not on npm yet") && !read(path).includes("Not on npm yet");
    });
    expect(silent).toEqual([]);
  });
});

describe("troubleshooting", () => {
  const page = read("docs/troubleshooting.md");

  test.each(Object.entries(ERROR_CODES))("%s: its meaning, and then what to do", (code, meaning) => {
    const section = page.split(/^### /m).find((text) => text.startsWith(`\`${code}\`\n`));
    expect(section).toContain(`\n\n${meaning}\n\n`);
    const advice = section!.split(meaning)[1]!.split(/^## /m)[0]!.trim();
    expect(advice.length).toBeGreaterThan(40);
  });

  test("has no code that is none", () => {
    const codes = [...page.matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
    expect(codes).toEqual(Object.keys(ERROR_CODES));
  });
});

describe("environment variables", () => {
  const sources = packages.flatMap(({ dir }) => {
    const src = join(dir, "src");
    if (!existsSync(src)) return [];
    const names = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    return names.map((name) => readFileSync(join(src, name), "utf8"));
  });
  const ours = new Set(
    sources.flatMap((text) => [...text.matchAll(/process\.env\.(VD_\w+)/g)].map(([, name]) => name!)),
  );

  test("of our own there are at most six, all on the page", () => {
    expect(ours.size).toBeGreaterThan(2);
    expect(ours.size).toBeLessThanOrEqual(6);
    const page = read("docs/environment.md");
    expect([...ours].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

/** Packages that examples/ has installed, whose pages' programs run there. */
const installed = Object.keys(JSON.parse(read("examples/package.json")).dependencies);
const programs = [...readmes, "docs/quick-start.md"].flatMap((path) =>
  blocks(path, "js").map((text, i) => ({ path, text, i })),
);
const runnable = programs.filter(({ text }) => {
  // Written for the repository's folder, where the packages are not installed; examples/ has a program for these.
  if (text.includes('"models/')) return false;
  const needs = [...text.matchAll(/from "(@vd\/[\w-]+)"/g)].map(([, name]) => name!);
  return needs.every((name) => installed.includes(name));
});

describe("programs on pages run as they are", () => {
  test("every library of examples/ has one", () => {
    const shown = (name: string) => runnable.some(({ text }) => text.includes(`from "${name}"`));
    const names = libraries().map(({ manifest }) => manifest.name);
    // The profiler's page shows a run of a model in the repository's folder.
    const tried = names.filter((name: string) => installed.includes(name) && name !== "@vd/profiler");
    expect(tried.length).toBeGreaterThan(6);
    expect(tried.filter((name: string) => !shown(name))).toEqual([]);
  });

  test.each(runnable.map(({ path, i, text }) => [`${path} ${i + 1}`, text] as const))("%s", (_, text) => {
    const words = ["--input-type=module", "-"];
    const options = { cwd: join(root, "examples"), input: text, encoding: "utf8", timeout: 60_000 } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, words, options);
    expect(status, stderr).toBe(0);
    if (text.includes("console.log")) expect(stdout.trim()).not.toBe("");
  });
});

test("the README's program runs where it says", () => {
  // A file in examples finds the same packages as one in its node_modules, which is in nobody's way.
  const file = join(root, "examples/node_modules/readme.mjs");
  const [text, ...more] = blocks("README.md", "js");
  expect([text, more]).toEqual([expect.stringContaining("steps: 10,"), []]);
  writeFileSync(file, text!.replace("steps: 10,", "steps: 1,"));
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], { cwd: root, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    expect(stdout).toContain("denoise 1 of 1\n");
    expect(stdout).toContain("14 frames of 128 x 128 Uint8Array(49152)");
  } finally {
    rmSync(file);
  }
});

test("the notebook is for a T4 and starts programs that exist", () => {
  const notebook = JSON.parse(read("docs/notebooks/t4.ipynb"));
  expect(notebook.metadata).toMatchObject({ accelerator: "GPU", colab: { gpuType: "T4" } });
  const code: string = notebook.cells.flatMap(({ source }: { source: string[] }) => source).join("");
  const commands = new Set([...code.matchAll(/npx (?!-y )([\w-]+)/g)].map(([, name]) => name!));
  const bins = packages.flatMap(({ manifest }) => Object.keys(manifest.bin ?? {}));
  expect(commands.size).toBeGreaterThan(1);
  expect([...commands].filter((name) => !bins.includes(name))).toEqual([]);
  expect(notebook.cells.every(({ outputs }: { outputs?: unknown[] }) => (outputs ?? []).length === 0)).toBe(true);
});
