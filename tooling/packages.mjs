// The packages of the workspace, from their own package.json files: whatever needs a list of them asks here.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PARENTS = ["packages", "models", "apps"];

/** Sources of what a package exports beside its index: entries of `exports` that are built from elsewhere. */
const SUBPATH_SOURCES = {
  "@vd/kernels-native/cases": "packages/kernels-native/ops/cases.generated.ts",
  "@vd/kernels-native/contract": "packages/kernels-native/contract/index.ts",
};

/** Folder and package.json of every package below packages, models and apps, by folder. */
function workspacePackages() {
  return PARENTS.flatMap((parent) =>
    readdirSync(join(ROOT, parent))
      .sort()
      .map((name) => join(ROOT, parent, name))
      .filter((dir) => existsSync(join(dir, "package.json")))
      .map((dir) => ({ dir, manifest: JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) })),
  );
}

/** Folder and package.json of every package that is published, those that others need first. */
export function publicPackages() {
  const all = workspacePackages().filter(({ manifest }) => manifest.private !== true);
  const byName = new Map(all.map((each) => [each.manifest.name, each]));
  const ordered = new Set();
  const add = (each) => {
    for (const name of Object.keys(each.manifest.dependencies ?? {})) if (byName.has(name)) add(byName.get(name));
    ordered.add(each);
  };
  for (const each of all) add(each);
  return [...ordered];
}

/** The packages that programs import: those with types. */
export const libraries = () => publicPackages().filter(({ manifest }) => manifest.types !== undefined);

/** Source files, from the root with `/`, by what imports of them say: `@vd/tensor` is `packages/tensor/src/index.ts`.
 *  Names of files inside a package come before the package's own, for tools that take the first that fits. */
export function sourceAliases() {
  const indexes = libraries().map(({ dir, manifest }) => {
    const folder = relative(ROOT, dir).replaceAll("\\", "/");
    return [manifest.name, `${folder}/src/index.ts`];
  });
  return { ...SUBPATH_SOURCES, ...Object.fromEntries(indexes) };
}

/** The example program of a library in examples/, or undefined. */
export function exampleOf(name) {
  const stem = basename(name);
  return [`${stem}.mjs`, `${stem}.cjs`].find((file) => existsSync(join(ROOT, "examples", file)));
}

/** Libraries whose example needs nothing that does not come with them: example by name. */
export function examplesOfSingleLibraries() {
  const rows = libraries().flatMap(({ manifest }) => {
    const example = exampleOf(manifest.name);
    if (example === undefined) return [];
    const text = readFileSync(join(ROOT, "examples", example), "utf8");
    const installed = [manifest.name, ...Object.keys(manifest.dependencies ?? {})];
    const needs = [...text.matchAll(/(?:from |require\(|resolve\()"((?:@[\w-]+\/)?[\w-]+)["/]/g)].map(
      ([, name]) => name,
    );
    return needs.every((need) => installed.includes(need)) ? [[manifest.name, example]] : [];
  });
  return Object.fromEntries(rows);
}
