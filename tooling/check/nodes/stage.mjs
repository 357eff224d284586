// The addon as an installed package has it, with the tensor layer bundled into one file beside it: what the loader's
// scenarios run on, under any Node.js and without TypeScript.
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../build/bundle.mjs";
import { ROOT } from "../../build/workspace.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const packageDir = join(ROOT, "packages/kernels-native");

/** Writes the package into `folder`, with the addon for `target`. programs: more to bundle into dist, as bundle() takes
 *  them. Returns the path of the program with the scenarios. */
export async function stageLoader(folder, target = `${process.platform}-${process.arch}`, programs = {}) {
  mkdirSync(join(folder, "prebuilds"), { recursive: true });
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  cpSync(join(packageDir, "prebuilds", target), join(folder, "prebuilds", target), { recursive: true });
  const finder = dirname(createRequire(join(packageDir, "package.json")).resolve("node-gyp-build/package.json"));
  symlinkSync(finder, join(folder, "node_modules/node-gyp-build"));
  await bundle({ api: "tooling/check/nodes/api.ts", ...programs }, join(folder, "dist"));
  cpSync(join(here, "scenarios.mjs"), join(folder, "scenarios.mjs"));
  return join(folder, "scenarios.mjs");
}
