#!/usr/bin/env node
// Stand-in for node-gyp that prebuildify calls: compiles what changed and links build/Release/vd-native.node.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { addonSources, objectsOf, packageDir } from "./sources.mjs";
import { toolchain } from "./toolchain.mjs";

const require = createRequire(join(packageDir, "package.json"));
const target = `${process.env.PREBUILD_PLATFORM ?? process.platform}-${process.env.PREBUILD_ARCH ?? process.arch}`;
const tools = toolchain(target);
const { compiler } = tools;
const objectDir = join(packageDir, "build/obj", target);
const includes = [require("node-api-headers").include_dir, dirname(require.resolve("node-addon-api/package.json"))];
const common = [...tools.flags, ...includes.flatMap((dir) => ["-isystem", dir])];

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
function keyOf(flags, files) {
  const hash = createHash("sha256").update([compiler, ...flags].join("\0"));
  for (const path of files) hash.update(path).update("\0").update(textOf(path)).update("\0");
  return hash.digest("hex");
}

/** Every object of the addon: its source, its instruction set if it has one, and flags beyond the common ones. */
const objects = () => addonSources().flatMap((source) => objectsOf(source).map((object) => ({ source, ...object })));

/** Compiles `source` unless its object is of the same key. Resolves to the object's path. */
function compile({ source, isa, flags: own }) {
  const flags = [...common, ...own];
  const name = relative(packageDir, source).replaceAll(/[\\/]/g, "-");
  const path = join(
    objectDir,
    name.replace(/(\.simd)?\.cc$/, (_, simd) => (simd ? `.${isa}.o` : ".o")),
  );
  const [rule, stamp] = [`${path}.d`, `${path}.key`];
  if (existsSync(path) && existsSync(rule) && textOf(stamp).toString() === keyOf(flags, filesOf(rule))) return path;
  const partial = `${path}.${process.pid}.tmp`;
  return new Promise((resolve, reject) => {
    const words = [...flags, "-MMD", "-MF", `${partial}.d`, "-MT", "object", "-c", source, "-o", partial];
    const child = spawn(compiler, words, { stdio: "inherit" });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code !== 0) return reject(new Error(`${source}: the compiler ended with ${code}`));
      rmSync(stamp, { force: true });
      renameSync(partial, path);
      renameSync(`${partial}.d`, rule);
      writeFileSync(stamp, keyOf(flags, filesOf(rule)));
      resolve(path);
    });
  });
}

async function compileAll() {
  const queue = objects();
  const paths = [];
  const worker = async () => {
    for (let object = queue.shift(); object; object = queue.shift()) paths.push(await compile(object));
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, worker));
  return paths.sort();
}

/** Node's own symbols come with the process; one of ours that is missing would end it at the first call. */
function checkSymbols(path) {
  const listed = spawnSync("nm", ["-DC", "--undefined-only", path], { encoding: "utf8", maxBuffer: 1 << 26 });
  const missing = (listed.stdout ?? "").split("\n").filter((line) => /\bvd::/.test(line));
  if (missing.length > 0) throw new Error(`undefined in the addon:\n${missing.join("\n")}`);
}

mkdirSync(objectDir, { recursive: true });
mkdirSync("build/Release", { recursive: true });
try {
  tools.link(await compileAll(), "build/Release/vd-native.node", objectDir);
  if (target.startsWith("linux")) checkSymbols("build/Release/vd-native.node");
} catch (error) {
  console.error(String(error.message ?? error));
  process.exit(1);
}
