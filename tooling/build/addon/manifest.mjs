// manifest.json beside binaries: the SHA-256 of every binary in the folder and what it was built from. One a folder, since
// addons and device code are built by different machines. The loader compares them when VD_VERIFY=1 asks for it,
// and the package's checks always do.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cudaPackageDir, packageDir } from "./sources.mjs";

/** Folder of the addons, one folder a target. */
export const prebuildsDir = join(packageDir, "prebuilds");
/** Folder of the device code. */
export const imageDir = join(cudaPackageDir, "images");
const FORMAT = 1;

/** The manifest of a folder; an empty one if there is none. */
export function readManifest(dir) {
  const path = join(dir, "manifest.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { format: FORMAT, built: {}, files: {} };
}

/** Refuses device code that was built from other sources than the tree has: kernels would be missing, or in their old form. */
export function assertFreshImages(dir, sources) {
  if (readManifest(dir).built.sources !== sources)
    throw new Error("the device code was built from other sources than the tree has: run `pnpm build:cubins` first");
}

/** The addon, or device code: also as text, which the driver compiles. */
const isBinary = (name) => /\.(node|fatbin|ptx)$/.test(name);

/** Size and SHA-256 of every binary in a folder, by name. */
export function describeBinaries(dir) {
  const names = existsSync(dir) ? readdirSync(dir).filter(isBinary).sort() : [];
  const entries = names.map((name) => {
    const bytes = readFileSync(join(dir, name));
    return [name, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }];
  });
  return Object.fromEntries(entries);
}

/** Writes the manifest of the binaries that are in a folder. built: `sources` (hash of everything they were made from)
 *  and `compiler`; what is not given stays. */
export function writeManifest(dir, built = {}) {
  const files = describeBinaries(dir);
  const manifest = { format: FORMAT, built: { ...readManifest(dir).built, ...built }, files };
  const path = join(dir, "manifest.json");
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(partial, path);
  return manifest;
}

/** The folders that have binaries: of addons, and of the device code. */
export function binaryFolders() {
  const entries = existsSync(prebuildsDir) ? readdirSync(prebuildsDir, { withFileTypes: true }) : [];
  const addons = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(prebuildsDir, name));
  return [...addons, imageDir].filter((dir) => Object.keys(describeBinaries(dir)).length > 0);
}

/** Writes the manifests of folders whose binaries came, went or changed since. */
export function refreshManifests() {
  for (const dir of binaryFolders())
    if (JSON.stringify(readManifest(dir).files) !== JSON.stringify(describeBinaries(dir))) writeManifest(dir);
}
