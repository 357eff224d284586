import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { circles } from "./circles";
import { checkIncludes } from "./includes";
import { layerOf, mayImport, packageOf } from "./layer";
import { readSource, type SourceFacts } from "./source-file";

/** One broken rule. */
export interface Violation {
  /** From the root, with `/`. */
  file: string;
  line: number;
  message: string;
}

const CODE = /\.(ts|mts|cts|mjs|cjs|js)$/;
const SKIPPED = /(^|\/)(node_modules|dist|prebuilds|generated)(\/|$)|^(packages|apps)\/.*\/build\//;

/** Where a process may look at its environment: these files, and apps for what a terminal, a shell or a CI says. */
const ENVIRONMENT_FILES = [
  "packages/kernels-native/src/env.ts",
  "packages/hub/src/client/environment.ts",
  "apps/studio/src/environment.ts",
];
const TERMINAL_VARIABLES = [
  "CI",
  "TERM",
  "COLORTERM",
  "NO_COLOR",
  "FORCE_COLOR",
  "COLUMNS",
  "LINES",
  "SHELL",
  "COMP_LINE",
  "COMP_POINT",
];

/** The files below a folder, from the root with `/`. Links are left alone: behind those of node_modules lie all packages again. */
function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (SKIPPED.test(`${path}/`)) return [];
    if (entry.isDirectory()) return filesBelow(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function codeFiles(root: string): string[] {
  const folders = ["packages", "apps", "tooling"].filter((folder) => existsSync(join(root, folder)));
  const files = folders.flatMap((folder) => filesBelow(root, folder));
  return files.filter((path) => CODE.test(path) && !path.endsWith(".d.ts")).sort();
}

/** What a page bundles besides code. */
const ASSET = /\.(png|webp|svg|css|woff2)$/;

/** Apps whose package has another name than their folder: libraries have the names that they would have. */
const APP_FOLDERS: Readonly<Record<string, string>> = { "live-app": "live" };

/** Where the code of an own package lies, or of a part of it. */
function placeOf(name: string, part: string | undefined, known: ReadonlySet<string>): string {
  const app = APP_FOLDERS[name];
  if (app !== undefined) return `apps/${app}/src/${part ?? "index"}`;
  return `${known.has(`apps/${name}/src/index.ts`) ? "apps" : "packages"}/${name}/${part ?? "src"}`;
}

/** The file that an import means; undefined for packages of others and for what is no code. */
function resolve(from: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const own = /^@vd\/([^/]+)(?:\/(.+))?$/.exec(specifier);
  if (own ? ASSET.test(specifier) : !specifier.startsWith(".")) return undefined;
  const base = own ? placeOf(own[1]!, own[2], known) : posix.normalize(posix.join(posix.dirname(from), specifier));
  const stem = base.replace(/\.js$/, "");
  return [base, `${stem}.ts`, `${base}/index.ts`].find((path) => known.has(path)) ?? (own ? `${base}/index.ts` : base);
}

const isTest = (file: string) => /^(packages|apps)\/[^/]+\/test\//.test(file);
/** What tests may use wherever they stand: fixtures are read by tooling, devices are checked by the conformance suite. */
const isForTests = (file: string) => /^(tooling|packages\/conformance)\//.test(file);

/** True if a file of tooling may import another file by its path: its own kind, and generators the sources that they
 *  write beside, which may not be complete enough to import the package. */
const isToolingsOwn = (file: string, target: string) =>
  packageOf(target) === undefined || (file.startsWith("tooling/generate/") && !isTest(target));

function toolingViolations(file: string, { imports }: SourceFacts, known: ReadonlySet<string>): Violation[] {
  return imports.flatMap(({ line, text }) => {
    const target = text.startsWith(".") ? resolve(file, text, known) : undefined;
    if (target === undefined || isToolingsOwn(file, target)) return [];
    return [{ file, line, message: `"${text}" reaches into ${packageOf(target)}: import what it exports by its name` }];
  });
}

/** Settings by which a package is bundled: no part of it, and made by the workspace's own. */
const isBundling = (file: string) => /(^|\/)tsup(\.\w+)?\.config\.ts$/.test(file);

function importViolations(file: string, facts: SourceFacts, known: ReadonlySet<string>): Violation[] {
  const { imports } = facts;
  const own = layerOf(file);
  if (!own) return toolingViolations(file, facts, known);
  return imports.flatMap(({ line, text }) => {
    const target = resolve(file, text, known);
    if (target === undefined || (isTest(file) && isForTests(target))) return [];
    if (isBundling(file) && target.startsWith("tooling/build/")) return [];
    if (text.startsWith(".") && packageOf(target) !== packageOf(file))
      return [{ file, line, message: `"${text}" leaves ${packageOf(file)}: import the package by its name` }];
    const other = layerOf(target);
    if (other && mayImport(own, other)) return [];
    const where = other ? `layer ${other.rank} (${other.name})` : "no layer";
    const way = other?.rank === own.rank ? "goes sideways" : "goes up";
    return [{ file, line, message: `"${text}" ${way}: from layer ${own.rank} (${own.name}) to ${where}` }];
  });
}

function environmentViolations(file: string, { environment }: SourceFacts): Violation[] {
  const isProduct = /^packages\/[^/]+\/(src|contract|ops)\//.test(file) || /^apps\/[^/]+\/src\//.test(file);
  if (!isProduct || ENVIRONMENT_FILES.includes(file)) return [];
  return environment
    .filter(({ text }) => !(file.startsWith("apps/") && TERMINAL_VARIABLES.includes(text)))
    .map(({ line, text }) => ({
      file,
      line,
      message: `reads process.env${text === "*" ? "" : `.${text}`}: only ${ENVIRONMENT_FILES.join(" and ")} may`,
    }));
}

/** A violation for each circle. verb: how files of the graph take each other. */
function circleViolations(graph: ReadonlyMap<string, readonly string[]>, verb: string): Violation[] {
  return circles(graph).map(([file, ...others]) => ({
    file: file!,
    line: 1,
    message: `${verb} itself by way of ${others.join(", ") || "nothing"}`,
  }));
}

/** A violation for each package that has no layer: nothing would look at its imports. */
function packagesWithoutLayer(files: readonly string[]): Violation[] {
  const stray = files.filter((file) => packageOf(file) !== undefined && layerOf(file) === undefined);
  const packages = new Map(stray.map((file) => [packageOf(file), file]));
  return [...packages.values()].map((file) => ({
    file,
    line: 1,
    message: `${packageOf(file)} has no layer: give it one in tooling/check/layers/layer.ts`,
  }));
}

/** Checks every source file below `root` against the rules of docs/architecture.md. */
export function checkLayers(root: string): Violation[] {
  const files = codeFiles(root);
  const known = new Set(files);
  const facts = new Map(files.map((file) => [file, readSource(join(root, file))]));
  const graph = new Map<string, string[]>();
  const violations: Violation[] = [];
  for (const [file, each] of facts) {
    violations.push(...importViolations(file, each, known), ...environmentViolations(file, each));
    // Types are gone when modules are loaded, so they close no circle.
    const loaded = each.imports.filter(({ typeOnly }) => !typeOnly);
    const targets = loaded.map(({ text }) => resolve(file, text, known));
    graph.set(
      file,
      targets.filter((target): target is string => target !== undefined && known.has(target)),
    );
  }
  const native = checkIncludes(root);
  return [
    ...packagesWithoutLayer(files),
    ...violations,
    ...circleViolations(graph, "imports"),
    ...native.violations,
    ...circleViolations(native.graph, "includes"),
  ];
}
