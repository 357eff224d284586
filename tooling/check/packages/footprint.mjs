// What each package brings along when it is installed alone: own size, other packages, size of all. Writes the table in
// docs/packages.md. From the lockfile and the installed files, so without a network.
import { existsSync, readdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { publicPackages } from "../../build/packages.mjs";
import { ROOT } from "../../build/workspace.mjs";

const path = join(ROOT, "docs/packages.md");
const MARKS = ["<!-- footprint -->", "<!-- /footprint -->"];
const MIB = 2 ** 20;
const limits = JSON.parse(readFileSync(join(ROOT, "tooling/check/packages/limits.json"), "utf8"));

/** Bytes of the files below a folder, without nested packages. */
function bytesBelow(dir) {
  return readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === "node_modules") return sum;
    const child = join(dir, entry.name);
    if (entry.isDirectory()) return sum + bytesBelow(child);
    return sum + (entry.isFile() ? statSync(child).size : 0);
  }, 0);
}

/** A dependency's folder as seen from a package's folder. */
function folderOf(name, from) {
  for (let dir = from; ; dir = join(dir, "..")) {
    const candidate = join(dir, "node_modules", name);
    if (existsSync(candidate)) return realpathSync(candidate);
    if (dir === join(dir, "..")) return undefined;
  }
}

/** Everything that npm installs with a package, by folder: names. Optional packages for other systems are not there. */
function closure(dir, found = new Map()) {
  const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const child = folderOf(name, dir);
    if (child === undefined || found.has(child)) continue;
    found.set(child, name);
    closure(child, found);
  }
  return found;
}

/** Direct dependencies and number of packages in all, per public package. Own sizes are limits: they change with every
 *  build. */
export function footprints() {
  return publicPackages().map(({ dir, manifest }) => {
    const found = [...closure(realpathSync(dir))];
    const others = found.filter(([, name]) => !name.startsWith("@vd/"));
    return {
      name: manifest.name,
      ownMib: (limits.packages[manifest.name]?.unpacked ?? 0) / 1024,
      direct: Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }),
      ours: found.length - others.length,
      others: others.length,
      otherMib: others.reduce((sum, [folder]) => sum + bytesBelow(folder), 0) / MIB,
    };
  });
}

function tableOf(rows) {
  const lines = rows.map(({ name, ownMib, direct, ours, others, otherMib }) => {
    const needs = direct.map((each) => `\`${each}\``).join(", ") || "nothing";
    const size = others === 0 ? "0" : otherMib < 1 ? "under 1" : otherMib.toFixed(0);
    return `| \`${name}\` | ${ownMib.toFixed(1)} | ${needs} | ${ours} | ${others} | ${size} |`;
  });
  return [
    "| package | MiB, at most | needs | of ours | of others | MiB of others |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

/** docs/packages.md with today's table. */
export function updatedPage() {
  const text = readFileSync(path, "utf8");
  const [start, end] = MARKS.map((mark) => text.indexOf(mark));
  if (start < 0 || end < start) throw new Error(`${path}: expected ${MARKS.join(" and ")}`);
  return `${text.slice(0, start)}${MARKS[0]}\n\n${tableOf(footprints())}\n\n${text.slice(end)}`;
}

/** Whether the page has today's table. */
export const isFresh = () => updatedPage() === readFileSync(path, "utf8");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = updatedPage();
  writeFileSync(`${path}.tmp`, page);
  renameSync(`${path}.tmp`, path);
  console.log("docs/packages.md written");
}
