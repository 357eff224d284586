// Which files make up the addon, and with which flags each is compiled.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packagesDir = join(dirname(fileURLToPath(import.meta.url)), "../../../packages");
export const packageDir = join(packagesDir, "kernels-native");
/** Of the package that has the device code. */
export const cudaPackageDir = join(packagesDir, "kernels-cuda");

/** Flags of each architecture's instruction sets. They are chosen at run time: `*.simd.cc` files are compiled once for each,
 *  and `*_avx512.cc` and `*_avx2.cc` files for that one alone. */
const ISA_FLAGS = {
  x64: {
    plain: [],
    avx2: ["-mavx2", "-mfma", "-mf16c"],
    avx512: ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
  },
  arm64: { neon: [] },
};
/** Files that are for one architecture alone: the AMX engine and what is written for AVX2 or AVX-512. */
const X64_ALONE = /(^|_)amx(_\w+)?\.cc$|_avx(2|512)\.cc$/;

/** Every file below `dir` whose name passes `accept`, sorted. */
export function filesBelow(dir, accept) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && accept(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The C++ files of the addon for an architecture: everything in native/, and the ops' host files. */
export function addonSources(arch = process.arch) {
  const accept = (name) => name.endsWith(".cc") && (arch === "x64" || !X64_ALONE.test(name));
  const native = ["binding", "core", "cpu", "cuda", "driver"].map((dir) => join(packageDir, "native", dir));
  return [...native, join(packageDir, "ops")].flatMap((dir) => filesBelow(dir, accept));
}

/** Everything that decides what the binary is: sources, headers and generated tables. */
export function addonInputs() {
  const code = (name) => /\.(cc|h|inc|inl)$/.test(name);
  return ["device", "native", "ops"]
    .flatMap((dir) => filesBelow(join(packageDir, dir), code))
    .filter((path) => !/[\\/]build[\\/]/.test(path));
}

/** How a source file is compiled for an architecture: for each of its objects the instruction set, if it has one, and the
 *  flags beyond the common ones. Throws for an architecture without kernels. */
export function objectsOf(path, arch = process.arch) {
  const sets = ISA_FLAGS[arch];
  if (!sets) throw new Error(`expected one of ${Object.keys(ISA_FLAGS).join(", ")} as the architecture, got ${arch}`);
  if (path.endsWith(".simd.cc")) return Object.entries(sets).map(([isa, flags]) => ({ isa, flags }));
  const isa = Object.keys(sets).find((key) => path.endsWith(`_${key}.cc`));
  return [{ isa, flags: isa ? sets[isa] : [] }];
}
