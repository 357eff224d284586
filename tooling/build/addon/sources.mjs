// Which files make up the addon, and with which flags each is compiled.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const packageDir = join(dirname(fileURLToPath(import.meta.url)), "../../../packages/kernels-native");

/** Flags of the instruction sets. They are chosen at run time: `*.simd.cc` files are compiled once for each, and
 *  `*_avx512.cc` files for that one alone. */
const ISA_FLAGS = {
  plain: [],
  avx2: ["-mavx2", "-mfma", "-mf16c"],
  avx512: ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
};

/** Every file below `dir` whose name passes `accept`, sorted. */
export function filesBelow(dir, accept) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && accept(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The C++ files of the addon: everything in native/, and the ops' host files. */
export function addonSources() {
  const native = ["binding", "core", "cpu", "cuda", "driver"].flatMap((dir) =>
    filesBelow(join(packageDir, "native", dir), (name) => name.endsWith(".cc")),
  );
  return [...native, ...filesBelow(join(packageDir, "ops"), (name) => name.endsWith(".cc"))];
}

/** Everything that decides what the binary is: sources, headers and generated tables. */
export function addonInputs() {
  const code = (name) => /\.(cc|h|inc|inl)$/.test(name);
  return ["device", "native", "ops"]
    .flatMap((dir) => filesBelow(join(packageDir, dir), code))
    .filter((path) => !/[\\/]build[\\/]/.test(path));
}

/** How a source file is compiled: for each of its objects the instruction set, if it has one, and the flags beyond the
 *  common ones. */
export function objectsOf(path) {
  if (path.endsWith(".simd.cc")) return Object.entries(ISA_FLAGS).map(([isa, flags]) => ({ isa, flags }));
  const isa = Object.keys(ISA_FLAGS).find((key) => path.endsWith(`_${key}.cc`));
  return [{ isa, flags: isa ? ISA_FLAGS[isa] : [] }];
}
