/** Writes everything that follows from the option tables. `--check` writes nothing and fails if a file is not fresh. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { tsImport } from "tsx/esm/api";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// The tables import packages by name; with these paths names mean sources, and nothing needs to be built.
const tsconfig = join(root, "tooling/tsconfig.json");
const { files } = (await tsImport("./files.ts", { parentURL: import.meta.url, tsconfig })) as typeof import("./files");

function currentText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

const all = await files(root);
const stale = all.filter(([path, text]) => currentText(path) !== text);
if (process.argv.includes("--check")) {
  if (stale.length > 0) {
    console.error(`Not fresh, run \`pnpm gen\`:\n${stale.map(([path]) => relative(root, path)).join("\n")}`);
    process.exitCode = 1;
  }
} else {
  for (const [path, text] of stale) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
if (process.exitCode !== 1) console.log(`${all.length} generated files are fresh (options).`);
