// The packages of the workspace, from their own package.json files: whatever needs a list of them asks here.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { ROOT } from "./workspace.mjs";

const PARENTS = ["packages", "models", "apps"];

/** Where the sources of what a package exports may lie in its folder. subpath: as in its `exports`, without `./`. */
const sourcesOf = (subpath) =>
  subpath === ""
    ? ["src/index.ts"]
    : [`src/${subpath}/index.ts`, `src/${subpath}.ts`, `${subpath}/index.ts`, `ops/${subpath}.generated.ts`];

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
    const { dependencies, optionalDependencies } = each.manifest;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      if (byName.has(name)) add(byName.get(name));
    ordered.add(each);
  };
  for (const each of all) add(each);
  return [...ordered];
}

/** Packages that are never built: those that take them bundle their sources. */
const bundledPackages = () =>
  workspacePackages().filter(({ manifest }) => String(manifest.exports?.["."]).endsWith(".ts"));

/** Folder and package.json of the packages whose sources are bundled into a package: what they import is a dependency of it. */
export function bundledInto({ manifest }) {
  return bundledPackages().filter(({ manifest: { name } }) => manifest.devDependencies?.[name] !== undefined);
}

/** The packages that programs import: those with types. */
export const libraries = () => publicPackages().filter(({ manifest }) => manifest.types !== undefined);

/** The source of a subpath of a package, from the root with `/`. Throws if none of the places has it. */
function sourceOf({ dir, manifest }, subpath) {
  const found = sourcesOf(subpath).find((path) => existsSync(join(dir, path)));
  if (!found) throw new Error(`${manifest.name}: expected ${sourcesOf(subpath).join(" or ")} for its exports`);
  return `${relative(ROOT, dir).replaceAll("\\", "/")}/${found}`;
}

/** Source files by what imports of them say, `@vd/tensor` → `packages/tensor/src/index.ts`, paths from the root. Names of
 *  files inside a package come before the package's own, for tools that take the first that fits.
 *  @returns {Record<string, string>} */
export function sourceAliases() {
  const rows = publicPackages().flatMap((each) => {
    const { name, exports = {} } = each.manifest;
    const subpaths = Object.keys(exports).filter((key) => exports[key].import !== undefined);
    return subpaths.map((key) => {
      const subpath = key.slice("./".length);
      return [subpath === "" ? name : `${name}/${subpath}`, sourceOf(each, subpath)];
    });
  });
  const bundled = bundledPackages().map((each) => [each.manifest.name, sourceOf(each, "")]);
  return Object.fromEntries([...rows, ...bundled].sort(([a], [b]) => b.length - a.length));
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
