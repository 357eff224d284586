// Programs and the addon, built with sanitizers into packages/kernels-native/build/sanitized.
import { spawnSync } from "node:child_process";
import { isAbsolute, join, relative } from "node:path";
import { buildAddon, compileAll } from "../../build/addon/objects.mjs";
import { filesBelow, packageDir } from "../../build/addon/sources.mjs";
import { missingCompiler, sanitizing } from "../../build/addon/toolchain.mjs";
import { Failure, ROOT } from "../../build/workspace.mjs";

const folder = join(packageDir, "build/sanitized");

/** Path of one of the compiler's own libraries. Throws Failure where it has none of that name. */
function libraryOf(compiler, name) {
  const path = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: "utf8" }).stdout?.trim() ?? "";
  if (isAbsolute(path)) return path;
  throw new Failure(`expected ${name} beside ${compiler}, got none. Debian, Ubuntu: apt-get install g++`);
}

/** Compiles and links an executable with the sanitizers of a kind, `memory` or `races`. Resolves to its path. */
export async function buildProgram(kind, name, sources) {
  const tools = sanitizing(kind);
  const output = join(folder, `${name}-${kind}`);
  tools.program(await compileAll(sources, tools, join(folder, `obj-${kind}`)), output);
  return output;
}

/** The program that works thread pool, janitor, kept memory and pack cache from several threads, with the sanitizer of races. */
export function buildThreads() {
  const native = [
    "core/thread_pool.cc",
    "core/processors.cc",
    "core/share_out.cc",
    "core/kept_memory.cc",
    "core/os_memory.cc",
    "binding/janitor.cc",
    "cpu/pack_cache.cc",
  ];
  const sources = filesBelow(join(packageDir, "test/threads"), (name) => name.endsWith(".cc"));
  return buildProgram("races", "threads", [...sources, ...native.map((name) => join(packageDir, "native", name))]);
}

/** Builds the addon with the sanitizers of memory and behaviour. Resolves to the environment in which Node.js loads it. */
export async function sanitizedAddon() {
  const tools = sanitizing("memory");
  const missing = missingCompiler({ ...tools, install: "Debian, Ubuntu: apt-get install g++." });
  if (missing) throw new Failure(missing);
  // Before anything else in the process; the C++ library too, whose exceptions the sanitizer's library wraps.
  const preloaded = ["libasan.so", "libstdc++.so"].map((name) => libraryOf(tools.compiler, name));
  const output = join(folder, "vd-native.node");
  await buildAddon(tools, join(folder, "obj-memory"), output);
  return {
    VD_ADDON: output,
    // For the conformance suite: buffers end with their tensors.
    VD_SANITIZED: "1",
    LD_PRELOAD: preloaded.join(" "),
    // Node.js itself leaves memory to the end of the process; a refused allocation is an error that the addon reports.
    ASAN_OPTIONS: "detect_leaks=0:halt_on_error=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
    UBSAN_OPTIONS: "halt_on_error=1:print_stacktrace=1",
  };
}

/** A path as a person types it. */
export const shown = (path) => relative(ROOT, path);
