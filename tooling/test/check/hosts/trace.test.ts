import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { nodeFileTrace } from "@vercel/nft";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../../build/workspace.mjs";

const project = mkdtempSync(join(tmpdir(), "vd trace "));
const modules = join(project, "node_modules");
const packages = join(ROOT, "packages");

/** Copies some of a package's files into the project as npm would install them. */
function install(name: string, files: readonly string[]): void {
  for (const file of files) cpSync(join(packages, name, file), join(modules, "@vd", name, file), { recursive: true });
}

beforeAll(() => {
  install("kernels-native", ["package.json", "dist", "lib", "prebuilds"]);
  install("kernels-cuda", ["package.json", "index.js"]);
  mkdirSync(join(modules, "@vd/kernels-cuda/images"));
  // Device code is there only where nvcc is.
  writeFileSync(join(modules, "@vd/kernels-cuda/images/sm_00.fatbin"), "stands for device code");
  const finder = createRequire(join(packages, "kernels-native/package.json")).resolve("node-gyp-build/package.json");
  cpSync(dirname(finder), join(modules, "node-gyp-build"), { recursive: true });
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

test.each([
  ["app.mjs", 'import { devices } from "@vd/kernels-native"; devices();'],
  ["app.cjs", 'const { devices } = require("@vd/kernels-native"); devices();'],
])("what copies the files that %s needs (Next.js and others) finds the native ones", async (name, text) => {
  const program = join(project, name);
  writeFileSync(program, text);
  const { fileList } = await nodeFileTrace([program], { base: project });
  const found = [...fileList].map((path) => path.replaceAll("\\", "/"));
  const target = `${process.platform}-${process.arch}`;
  expect(found).toEqual(
    expect.arrayContaining([
      "node_modules/node-gyp-build/node-gyp-build.js",
      `node_modules/@vd/kernels-native/prebuilds/${target}/vd-native.node`,
      "node_modules/@vd/kernels-cuda/images/sm_00.fatbin",
    ]),
  );
});
