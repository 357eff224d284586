// Tells whether two builds of the device code hold the same machine code: node compare-sass.mjs BASE NEW, two folders
// build/cuda of packages/kernels-native. Kernels are compared by target and name; exit status 1 if any differs.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { kernelsOf } from "./machine-code.mjs";
import { parseLog } from "./report.mjs";

/** The newest fatbin of each source and target: `<source>-<target>-<key>.fatbin`. */
function newestFatbins(folder) {
  const newest = new Map();
  for (const name of readdirSync(folder)) {
    const [, stem] = /^(.*-sm_\w+)-[0-9a-f]{16}\.fatbin$/.exec(name) ?? [];
    if (!stem) continue;
    const path = join(folder, name);
    const { mtimeMs } = statSync(path);
    if (!(newest.get(stem)?.mtimeMs >= mtimeMs)) newest.set(stem, { path, mtimeMs });
  }
  return newest;
}

/** Kernels of a build by target and name: machine code, constants, and what ptxas says of registers and shared memory. */
function kernelsBelow(folder) {
  const kernels = new Map();
  for (const [stem, { path }] of newestFatbins(folder)) {
    const target = stem.slice(stem.lastIndexOf("-") + 1);
    const log = parseLog(readFileSync(path.replace(/\.fatbin$/, ".log"), "utf8"));
    const used = new Map(log.map((entry) => [entry.kernel, JSON.stringify(entry)]));
    for (const [name, { code, constants }] of kernelsOf(readFileSync(path)))
      kernels.set(`${target} ${name}`, { code, constants, used: used.get(name) });
  }
  return kernels;
}

/** How a kernel differs, or nothing. */
function difference(base, now) {
  if (!base) return "is new";
  if (!now) return "is gone";
  if (!base.code.equals(now.code)) return `has other instructions: ${base.code.length} bytes, now ${now.code.length}`;
  if (base.constants !== now.constants) return "has other constants";
  return base.used === now.used ? undefined : `uses ${now.used}, formerly ${base.used}`;
}

const [base, now] = process.argv.slice(2);
if (!base || !now) {
  console.error("Usage: node tooling/build/cubins/compare-sass.mjs BASE NEW, two folders build/cuda");
  process.exit(2);
}
const [before, after] = [kernelsBelow(base), kernelsBelow(now)];
const names = [...new Set([...before.keys(), ...after.keys()])].sort();
const differences = names.flatMap((name) => {
  const found = difference(before.get(name), after.get(name));
  return found ? [`${name} ${found}`] : [];
});
for (const line of differences) console.log(line);
console.log(`${names.length - differences.length} of ${names.length} kernels are equal`);
if (names.length === 0 || differences.length > 0) process.exitCode = 1;
