// Which device sources there are, for which architectures each is meant, and what each depends on.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { packageDir } from "../addon/sources.mjs";

export { packageDir };

/** What is built: machine code for each architecture, and PTX for GPUs newer than all of them and for tests. */
export const TARGETS = ["75", "80", "86", "89", "90a", "100", "120", "ptx75", "ptx80"];

/** What the text of kernels is built for that are completed where they run (`*.template.cu`): the oldest architecture, and the first with
 *  instructions for bfloat16. */
export const TEMPLATE_TARGETS = ["ptx75", "ptx80"];
/** nvcc's words for such a text; functions are kept although no kernel in it calls them. */
export const TEMPLATE_FLAGS = ["-std=c++20", "-O3", "-ptx", "-rdc=true"];

/** Name of a target's file without its ending: sm_90a, compute_75. */
export const imageName = (target) => (target.startsWith("ptx") ? `compute_${target.slice(3)}` : `sm_${target}`);

/** nvcc's -gencode for a target. */
export function gencode(target) {
  const version = target.replace("ptx", "");
  return `-gencode=arch=compute_${version},code=${imageName(target)}`;
}

function filesBelow(dir, accept) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && accept(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

const isTemplate = (path) => path.endsWith(".template.cu");
const deviceSources = () => filesBelow(join(packageDir, "ops"), (name) => name.endsWith(".cu"));

/** The device sources of a target: `.sm90.cu` files are for Hopper alone. */
export function sourcesFor(target) {
  return deviceSources().filter((path) => !isTemplate(path) && (target === "90a" || !path.endsWith(".sm90.cu")));
}

/** The sources of kernels that are completed where they run. */
export const templateSources = () => deviceSources().filter(isTemplate);

/** The file and everything of this package that it includes, each once. */
function closure(path, seen = new Map()) {
  if (seen.has(path)) return seen;
  const text = readFileSync(path, "utf8");
  seen.set(path, text);
  for (const [, name] of text.matchAll(/^\s*#include\s+"([^"]+)"/gm)) {
    const included = resolve(dirname(path), name);
    if (existsSync(included)) closure(included, seen);
  }
  return seen;
}

/** Hash of a source and its includes. */
export function contentHash(path, salt = "") {
  const hash = createHash("sha256").update(salt);
  for (const [name, text] of [...closure(path)].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(relative(packageDir, name)).update("\0").update(text).update("\0");
  return hash.digest("hex");
}

/** Hash of everything that decides what GPUs compute: device code and what plans its launches. */
export function kernelHash() {
  const hash = createHash("sha256");
  const isCode = (name) => /\.(cu|cuh|h)$/.test(name) || name.endsWith(".cuda.cc");
  const files = [
    ...filesBelow(join(packageDir, "device"), () => true),
    ...filesBelow(join(packageDir, "ops"), isCode).filter((path) => !/[\\/]cpu[\\/]/.test(path)),
    ...filesBelow(join(packageDir, "native/cuda/planning"), () => true),
  ];
  for (const path of files)
    hash.update(relative(packageDir, path)).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}
