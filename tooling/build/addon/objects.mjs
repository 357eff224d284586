// Compiles sources to objects, those alone that changed since, and links the addon of them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { addonSources, objectsOf, packageDir } from "./sources.mjs";

const require = createRequire(join(packageDir, "package.json"));
const MOST_COMPILERS = 4;

/** Compiler words for the headers of Node-API. */
function nodeHeaders() {
  const folders = [require("node-api-headers").include_dir, dirname(require.resolve("node-addon-api/package.json"))];
  return folders.flatMap((dir) => ["-isystem", dir]);
}

const textOf = (path) => (existsSync(path) ? readFileSync(path) : "");

/** The files that the compiler read for an object, from the rule that -MMD wrote. */
function filesOf(dependencyPath) {
  const rule = textOf(dependencyPath).toString().replaceAll("\\\n", " ");
  return rule
    .slice(rule.indexOf(":") + 1)
    .trim()
    .split(/\s+/)
    .filter(Boolean);
}

/** What an object is made of: compiler, flags and the contents of every file that was read for it. */
function keyOf(compiler, flags, files) {
  const hash = createHash("sha256").update([compiler, ...flags].join("\0"));
  for (const path of files) hash.update(path).update("\0").update(textOf(path)).update("\0");
  return hash.digest("hex");
}

/** Runs the compiler with its messages on this terminal; rejects if it fails on `source`. */
function runCompiler(compiler, words, source) {
  return new Promise((resolve, reject) => {
    const child = spawn(compiler, words, { stdio: "inherit" });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${source}: the compiler ended with ${code}`));
    });
  });
}

/** Headers of the C++ library that most sources include: to read them takes half of the time of a source without kernels. */
const STANDARD_HEADERS = [
  ...[
    "algorithm",
    "array",
    "atomic",
    "cmath",
    "condition_variable",
    "cstddef",
    "cstdint",
    "cstring",
    "functional",
    "limits",
  ],
  ...[
    "map",
    "memory",
    "mutex",
    "optional",
    "span",
    "string",
    "string_view",
    "type_traits",
    "unordered_map",
    "utility",
    "vector",
  ],
];

/** Declares functions of the C library by itself, which no header may have done before. */
const DECLARES_ITS_OWN = /glibc_compat\.cc$/;

/** The C++ library's headers as g++ has read them, for the sources with the common flags alone: made when the first of them is compiled,
 *  and removed at the end, since it is large. */
class PrecompiledHeaders {
  constructor({ compiler, flags, precompiles }, objectDir) {
    Object.assign(this, { compiler, flags, precompiles, path: join(objectDir, `standard.${process.pid}.h`) });
  }

  /** Resolves to compiler words for an object: none where it has flags of its own or the toolchain takes no such headers. */
  async wordsFor(source, own) {
    if (!this.precompiles || own.length > 0 || DECLARES_ITS_OWN.test(source)) return [];
    this.made ??= this.make();
    await this.made;
    return ["-include", this.path];
  }

  async make() {
    writeFileSync(this.path, STANDARD_HEADERS.map((name) => `#include <${name}>\n`).join(""));
    await runCompiler(
      this.compiler,
      [...this.flags, "-x", "c++-header", this.path, "-o", `${this.path}.gch`],
      this.path,
    );
  }

  remove() {
    for (const path of [this.path, `${this.path}.gch`]) rmSync(path, { force: true });
  }
}

/** Compiles `source` for one instruction set unless the object is of the same key. Resolves to the object's path. */
async function compile({ source, isa, flags: own }, { compiler, flags: common }, objectDir, headers) {
  const flags = [...common, ...own];
  const name = relative(packageDir, source).replaceAll(/[\\/]/g, "-");
  const path = join(
    objectDir,
    name.replace(/(\.simd)?\.cc$/, (_, simd) => (simd ? `.${isa}.o` : ".o")),
  );
  const [rule, stamp] = [`${path}.d`, `${path}.key`];
  const key = () => keyOf(compiler, flags, filesOf(rule));
  if (existsSync(path) && existsSync(rule) && textOf(stamp).toString() === key()) return path;
  const partial = `${path}.${process.pid}.tmp`;
  await runCompiler(
    compiler,
    [
      ...flags,
      ...(await headers.wordsFor(source, own)),
      "-MMD",
      "-MF",
      `${partial}.d`,
      "-MT",
      "object",
      "-c",
      source,
      "-o",
      partial,
    ],
    source,
  );
  rmSync(stamp, { force: true });
  renameSync(partial, path);
  renameSync(`${partial}.d`, rule);
  writeFileSync(stamp, key());
  return path;
}

/** Compiles `sources` with a toolchain's compiler and flags, several at a time. Resolves to the objects' paths, sorted. */
export async function compileAll(sources, tools, objectDir) {
  mkdirSync(objectDir, { recursive: true });
  const all = sources.flatMap((source) => objectsOf(source, tools.arch).map((object) => ({ source, ...object })));
  // Those with flags of their own wait for no headers, and take longest.
  const queue = all.sort((a, b) => b.flags.length - a.flags.length);
  const headers = new PrecompiledHeaders(tools, objectDir);
  const objects = [];
  const worker = async () => {
    for (let object = queue.shift(); object; object = queue.shift()) {
      objects.push(await compile(object, tools, objectDir, headers));
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(MOST_COMPILERS, availableParallelism()) }, worker));
  } finally {
    headers.remove();
  }
  return objects.sort();
}

/** Builds the addon `output` with a toolchain; objects stay in `objectDir` for the next time. */
export async function buildAddon(tools, objectDir, output) {
  const withHeaders = { ...tools, flags: [...tools.flags, ...nodeHeaders()] };
  const objects = await compileAll(addonSources(tools.arch), withHeaders, objectDir);
  mkdirSync(dirname(output), { recursive: true });
  tools.link(objects, output, objectDir);
}
