// Which versions of the system's libraries a Linux binary asks for.
import { spawnSync } from "node:child_process";

/** Newest version allowed of each kind of symbol. Node.js 20 itself needs glibc 2.28 (its BUILDING.md). */
export const FLOORS = { GLIBC: "2.28", GCC: "7.0.0" };
/** Libraries that every glibc system with Node.js has. */
const LIBRARIES = [
  "libc.so.6",
  "libm.so.6",
  "libdl.so.2",
  "libpthread.so.0",
  "libgcc_s.so.1",
  "ld-linux-x86-64.so.2",
  "ld-linux-aarch64.so.1",
];

const numbers = (version) => version.split(".").map(Number);

/** Negative, zero or positive as version `a` is older than, the same as or newer than `b`. */
export function compareVersions(a, b) {
  const [left, right] = [numbers(a), numbers(b)];
  const at = left.findIndex((part, i) => part !== (right[i] ?? 0));
  return at < 0 ? left.length - right.length : left[at] - (right[at] ?? 0);
}

function objdump(words) {
  const result = spawnSync("objdump", words, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (result.status === 0) return result.stdout;
  throw new Error(`objdump ${words.join(" ")}: ${result.error?.message ?? result.stderr}; it comes with binutils`);
}

/** Symbols that a binary takes from libraries: name, kind (GLIBC, GLIBCXX, …) and version. */
export function versionedSymbols(path) {
  const pattern = /\*UND\*.*\(([A-Z]+)_([\d.]+)\)\s+(\S+)/;
  return objdump(["-T", path])
    .split("\n")
    .flatMap((line) => {
      const found = pattern.exec(line);
      return found ? [{ kind: found[1], version: found[2], name: found[3] }] : [];
    });
}

/** Libraries that a binary asks for. */
export function neededLibraries(path) {
  return [...objdump(["-p", path]).matchAll(/NEEDED\s+(\S+)/g)].map(([, name]) => name);
}

/** The newest version of `kind` that a binary asks for. */
export function newest(path, kind) {
  const versions = versionedSymbols(path).flatMap((symbol) => (symbol.kind === kind ? [symbol.version] : []));
  return versions.sort(compareVersions).at(-1);
}

/** Why a binary would not load on a system with the oldest supported glibc, as sentences. */
export function portabilityFaults(path) {
  const tooNew = versionedSymbols(path).filter(
    ({ kind, version }) => !(kind in FLOORS) || compareVersions(version, FLOORS[kind]) > 0,
  );
  const strangers = neededLibraries(path).filter((name) => !LIBRARIES.includes(name));
  return [
    ...tooNew.map(({ kind, version, name }) => `${name} asks for ${kind}_${version}`),
    ...strangers.map((name) => `the binary asks for ${name}`),
  ];
}
