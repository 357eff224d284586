// Builds the kernels of ops for a GPU that is emulated, and the driver that hands them their launches. Only what changed is compiled.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { contentHash, imageName, packageDir, sourcesFor } from "../build/cubins/sources.mjs";
import { Failure } from "../build/workspace.mjs";
import { translate } from "./translate.mjs";

/** The architecture of the GPU that there seems to be, unless another is asked for. */
const HOPPER = "90a";
/** Multiprocessors and memory of an H100; only what is used of the latter is taken. */
const MULTIPROCESSORS = 132;
const MEMORY_MEBIBYTES = 16_384;

const runtimeDir = fileURLToPath(new URL("runtime/", import.meta.url));
const planningDir = join(packageDir, "native/cuda/planning");
const buildDir = join(packageDir, "build/emulator");
const standIn = join(packageDir, "test/driver/stand-in.c");
const compiler = process.env.CXX ?? "g++";
/** No product is joined with a sum unless the kernel says so, and types may be looked at as others, as nvcc has it. */
const FLAGS = ["-std=c++20", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-strict-aliasing"];

/** Where the CUDA toolkit has the headers of its number types: the words that nvcc would give a compiler. */
function includeFlags() {
  const { status, stderr } = spawnSync("nvcc", ["--dryrun", "-x", "cu", "/dev/null"], { encoding: "utf8" });
  if (status !== 0) throw new Failure("the emulator: expected nvcc on the PATH, for CUDA's headers, got none");
  const named = (name) => new RegExp(`^#\\$ ${name}=(.*)$`, "m").exec(stderr)?.[1] ?? "";
  const words = `${named("INCLUDES")} ${named("SYSTEM_INCLUDES")}`;
  return words.match(/[^"\s][^"]*(?=")/g) ?? [];
}

function run(program, words) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"] });
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Failure(`${program} ${words.at(-1)} ended with ${code}\n${text}`)),
    );
  });
}

function filesBelow(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

const hashOfFiles = (paths) => {
  const hash = createHash("sha256");
  for (const path of paths)
    hash.update(relative(packageDir, path)).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex").slice(0, 16);
};
/** What decides what kernels become, apart from their sources. */
const runtimeHash = () =>
  hashOfFiles([...filesBelow(runtimeDir), fileURLToPath(new URL("translate.mjs", import.meta.url))]);

/** Writes a file under a name that nobody reads, then renames it. */
function writeWhole(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, text);
  renameSync(partial, path);
}

/** Writes what the sources become on the host, with the runtime's files in place of PTX. Returns the folder. */
function writeSources(smVersion) {
  const isDevice = (path) => /\.(cu|cuh|h)$/.test(path) && !/[\\/]cpu[\\/]/.test(path);
  const paths = ["device", "ops"].flatMap((top) => filesBelow(join(packageDir, top)).filter(isDevice));
  const dir = join(buildDir, `sources-${smVersion}-${runtimeHash()}-${hashOfFiles(paths)}`);
  if (existsSync(join(dir, "whole"))) return dir;
  for (const path of paths)
    writeWhole(join(dir, relative(packageDir, path)), translate(readFileSync(path, "utf8"), smVersion));
  for (const path of ["kernel.cuh", ...readdirSync(join(runtimeDir, "ptx")).map((name) => `ptx/${name}`)])
    writeWhole(join(dir, "device", path), `#include "${join(runtimeDir, path)}"\n`);
  writeWhole(join(dir, "whole"), "");
  return dir;
}

/** Makes a file of the build folder unless it is there: make(path) writes it. Returns its path. */
async function cached(name, make) {
  const path = join(buildDir, name);
  if (existsSync(path)) return path;
  const partial = `${path}.${process.pid}.tmp`;
  await make(partial);
  renameSync(partial, path);
  return path;
}

/** A fatbin with nothing in it, which the driver that stands in does not read. */
function emptyImage() {
  const image = Buffer.alloc(32);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  return image;
}

/** The text of an op's planner, and of what it includes of other planners' parts. */
function plannerText(path, seen = new Set()) {
  if (seen.has(path) || !existsSync(path)) return "";
  seen.add(path);
  const text = readFileSync(path, "utf8");
  const parts = [...text.matchAll(/^#include "(?:.*planning\/)?(\w+)\.h"/gm)].map(([, name]) =>
    join(planningDir, `${name}.cc`),
  );
  return [text, ...parts.map((part) => plannerText(part, seen))].join("\n");
}

/** An op, and those whose kernels its planner names besides its own: their functions, or the beginning of a symbol. */
function withOthers(op, seen = new Set()) {
  const planner = (name) => join(packageDir, "ops", name, `${name}.cuda.cc`);
  if (seen.has(op) || !existsSync(planner(op))) return seen;
  seen.add(op);
  const text = plannerText(planner(op));
  for (const other of readdirSync(join(packageDir, "ops"))) {
    const isNamed = [`${other}_cuda_variants`, `"${other}_`, `"${other}"`].some((name) => text.includes(name));
    if (isNamed || op.startsWith(`${other}_`)) withOthers(other, seen);
  }
  return seen;
}

/** The sources that hold the kernels of ops. */
function sourcesOf(ops, target) {
  const named = new Set(ops.flatMap((op) => [...withOthers(op)]));
  return sourcesFor(target).filter((path) => named.has(basename(dirname(path))));
}

/** Runs jobs, so many at a time. */
async function inTurns(jobs, atOnce) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) {
      const index = next++;
      results[index] = await jobs[index]();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** The compiler's words for kernels that were translated. */
export const kernelFlags = () => [...FLAGS, ...includeFlags(), "-include", join(runtimeDir, "builtins.h")];

/** Throws a Failure where kernels cannot be emulated. */
export function requireEmulator() {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Failure(`the emulator: expected Linux on x64, got ${process.platform} on ${process.arch}`);
  if (spawnSync(compiler, ["--version"]).status !== 0)
    throw new Failure(`the emulator: expected a C++ compiler as ${compiler}, got none`);
}

/** The names of all ops that have kernels for GPUs. */
export function emulatedOps() {
  const ops = join(packageDir, "ops");
  return readdirSync(ops).filter((op) => existsSync(join(ops, op, `${op}.cuda.cc`)));
}

/** Builds the kernels of ops. target: the architecture, e.g. 80. Resolves to the environment in which a process finds the GPU, and to what
 *  removes it. */
export async function buildEmulator(ops, target = HOPPER) {
  const smVersion = Number.parseInt(target, 10);
  requireEmulator();
  mkdirSync(buildDir, { recursive: true });
  const flags = kernelFlags();
  const sources = writeSources(smVersion);
  const own = runtimeHash();
  const threads = await cached(`threads-${own}.o`, (path) =>
    run(compiler, [...flags, "-c", "-o", path, join(runtimeDir, "threads.cc")]),
  );
  const driver = await cached(`libcuda-${hashOfFiles([standIn])}.so`, (path) =>
    run(compiler, ["-x", "c++", "-w", "-shared", "-fPIC", "-o", path, standIn, "-ldl"]),
  );
  const emulator = await cached(`libemulator-${own}.so`, (path) =>
    run(compiler, [...FLAGS, "-shared", "-o", path, join(runtimeDir, "driver.cc"), "-ldl"]),
  );
  const jobs = sourcesOf(ops, target).map((source) => async () => {
    const name = basename(source, ".cu");
    const key = contentHash(source, [own, compiler, target, ...flags].join("\0")).slice(0, 16);
    const translated = join(sources, relative(packageDir, source));
    const path = await cached(`${name}-${key}.so`, (output) =>
      run(compiler, [...flags, "-shared", "-o", output, threads, "-x", "c++", translated]),
    );
    return { name, path };
  });
  const libraries = await inTurns(jobs, Math.min(4, availableParallelism()));
  const dir = mkdtempSync(join(buildDir, "gpu-"));
  hardLink(driver, join(dir, "libcuda.so.1"));
  hardLink(emulator, join(dir, "libemulator.so"));
  for (const { name, path } of libraries) hardLink(path, join(dir, `${name}.kernels.so`));
  writeFileSync(join(dir, `${imageName(target)}.fatbin`), emptyImage());
  const env = {
    LD_LIBRARY_PATH: dir,
    VD_CUDA_IMAGE: join(dir, imageName(target)),
    STAND_IN_KERNELS: join(dir, "libemulator.so"),
    STAND_IN_MAJOR: String(Math.floor(smVersion / 10)),
    STAND_IN_MINOR: String(smVersion % 10),
    STAND_IN_SMS: String(MULTIPROCESSORS),
    STAND_IN_MEBIBYTES: String(MEMORY_MEBIBYTES),
  };
  return { env, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** One file under two names; a copy where that cannot be. */
function hardLink(from, to) {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
