// Writes every generated file of the repository. Behind `pnpm gen`; `--check` writes nothing and fails if a file is not
// fresh.
import { rmSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "../build/workspace.mjs";
import { type GeneratedFile, orphanedPages, stalePaths, writeStale } from "./generated-file";

/** A module that makes files from sources of the repository. */
interface Generator {
  files(): GeneratedFile[] | Promise<GeneratedFile[]>;
}

/** In the order in which they run. Each is loaded after the files of those before it are written: it may import them. */
const GENERATORS: readonly (() => Promise<Generator>)[] = [
  () => import("./ops/files"),
  () => import("./wgmma/files"),
  () => import("./samplers/files"),
  () => import("./options/files"),
  () => import("./serving/files"),
];

const isCheck = process.argv.includes("--check");
const all: GeneratedFile[] = [];
for (const load of GENERATORS) {
  const { files } = await load();
  const made = await files();
  if (!isCheck) writeStale(made);
  all.push(...made);
}
const orphans = orphanedPages(join(ROOT, "docs/ops"), all);
if (!isCheck) for (const path of orphans) rmSync(path);
const stale = isCheck ? [...stalePaths(all), ...orphans] : [];
if (stale.length > 0) {
  console.error(`Not fresh, run \`pnpm gen\`:\n${stale.map((path) => relative(ROOT, path)).join("\n")}`);
  process.exitCode = 1;
} else {
  console.log(`${all.length} generated files are fresh.`);
}
