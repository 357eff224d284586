// Which files make up the addon, and with which flags each is compiled.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const packageDir = join(dirname(fileURLToPath(import.meta.url)), "../../../packages/kernels-native");

/** Flags by file-name suffix: the instruction sets are chosen at run time, so each has its own files. */
const ISA_FLAGS = {
  _avx512: ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
  _avx2: ["-mavx2", "-mfma", "-mf16c"],
};

/** Every file below `dir` whose name passes `accept`, sorted. */
export function filesBelow(dir, accept) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && accept(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The C++ files of the addon: everything in native/ but the harness, the launch planners, and the ops' host files. */
export function addonSources() {
  const native = ["binding", "core", "cpu", "cuda", "driver"].flatMap((dir) =>
    filesBelow(join(packageDir, "native", dir), (name) => name.endsWith(".cc")),
  );
  const others = ["device", "ops"].flatMap((dir) => filesBelow(join(packageDir, dir), (name) => name.endsWith(".cc")));
  return [...native, ...others];
}

/** Everything that decides what the binary is: sources, headers and generated tables. */
export function addonInputs() {
  const code = (name) => /\.(cc|h|inc|inl)$/.test(name);
  return ["device", "native", "ops"]
    .flatMap((dir) => filesBelow(join(packageDir, dir), code))
    .filter((path) => !/[\\/](harness|build)[\\/]/.test(path));
}

/** The flags of one source file beyond the common ones. */
export function flagsFor(path) {
  const suffix = Object.keys(ISA_FLAGS).find((key) => path.endsWith(`${key}.cc`));
  return suffix ? ISA_FLAGS[suffix] : [];
}
