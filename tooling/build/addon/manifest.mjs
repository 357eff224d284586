// prebuilds/<folder>/manifest.json: the SHA-256 of every binary in the folder and what it was built from. One a folder,
// since addons and device code are built by different machines. The loader compares them when VD_VERIFY=1 asks for it,
// and the package's checks always do.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageDir } from "./sources.mjs";

export const prebuildsDir = join(packageDir, "prebuilds");
const FORMAT = 1;

/** The manifest of a folder of prebuilds/; an empty one if there is none. */
export function readManifest(folder) {
  const path = join(prebuildsDir, folder, "manifest.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { format: FORMAT, built: {}, files: {} };
}

const isBinary = (name) => name.endsWith(".node") || name.endsWith(".fatbin");

/** Size and SHA-256 of every binary in a folder, by name. */
export function describeBinaries(folder) {
  const dir = join(prebuildsDir, folder);
  const names = existsSync(dir) ? readdirSync(dir).filter(isBinary).sort() : [];
  const entries = names.map((name) => {
    const bytes = readFileSync(join(dir, name));
    return [name, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }];
  });
  return Object.fromEntries(entries);
}

/** Writes the manifest of the binaries that are in a folder. built: `sources` (hash of everything they were made from)
 *  and `compiler`; what is not given stays. */
export function writeManifest(folder, built = {}) {
  const files = describeBinaries(folder);
  const manifest = { format: FORMAT, built: { ...readManifest(folder).built, ...built }, files };
  const path = join(prebuildsDir, folder, "manifest.json");
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(partial, path);
  return manifest;
}

/** Folders of prebuilds/ that have binaries. */
export function binaryFolders() {
  if (!existsSync(prebuildsDir)) return [];
  const folders = readdirSync(prebuildsDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).filter((name) => Object.keys(describeBinaries(name)).length > 0);
}

/** Writes the manifests of folders whose binaries came, went or changed since. */
export function refreshManifests() {
  for (const folder of binaryFolders())
    if (JSON.stringify(readManifest(folder).files) !== JSON.stringify(describeBinaries(folder))) writeManifest(folder);
}
