// Formats all C++ and CUDA with the clang-format of package.json, by .clang-format; .clang-format-ignore names what
// generators write. `node tooling/check/format-cpp.mjs [--check]`: --check changes nothing and fails where something would.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../build/workspace.mjs";

const CODE = /\.(c|cc|h|cu|cuh|inl)$/;
const SKIPPED = /^(node_modules|dist|build|prebuilds)$/;

/** Every C and CUDA source below a folder. */
function sourcesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : sourcesBelow(path);
    return entry.isFile() && CODE.test(entry.name) ? [path] : [];
  });
}

const { values } = parseArgs({ options: { check: { type: "boolean" } } });
const files = ["packages", "tooling"].flatMap((folder) => sourcesBelow(join(ROOT, folder))).sort();
const require = createRequire(join(ROOT, "package.json"));
const clangFormat = require("clang-format-node").clangFormatPath;
const mode = values.check ? ["--dry-run", "-Werror", "--ferror-limit=1"] : ["-i"];
const names = files.map((path) => relative(ROOT, path));
const { error, status } = spawnSync(clangFormat, [...mode, ...names], { cwd: ROOT, stdio: "inherit" });
if (error) throw error;
if (status !== 0) {
  console.error("format-cpp: run `pnpm format:cpp`");
  process.exitCode = 1;
} else {
  console.log(`format-cpp: ${files.length} files ${values.check ? "are in format" : "formatted"}`);
}
