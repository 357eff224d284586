// prebuilds/manifest.json: the SHA-256 of every binary of the package and what each addon was built from. The loader
// compares them when VD_VERIFY=1 asks for it, and the package's checks always do.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { filesBelow, packageDir } from "./sources.mjs";

export const prebuildsDir = join(packageDir, "prebuilds");
const path = join(prebuildsDir, "manifest.json");
const FORMAT = 1;

/** The manifest as it lies there; an empty one if there is none. */
export function readManifest() {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { format: FORMAT, built: {}, files: {} };
}

const isBinary = (name) => name.endsWith(".node") || name.endsWith(".fatbin");

/** Size and SHA-256 of every binary below prebuilds/, by its path there with slashes. */
export function describeBinaries() {
  const entries = filesBelow(prebuildsDir, isBinary).map((file) => {
    const bytes = readFileSync(file);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return [relative(prebuildsDir, file).replaceAll("\\", "/"), { bytes: bytes.length, sha256 }];
  });
  return Object.fromEntries(entries);
}

/** Writes the manifest of the binaries that are there. built: what is new about how a target was built, by target:
 *  `sources` (hash of everything it was made from) and `compiler`. */
export function writeManifest(built = {}) {
  const files = describeBinaries();
  const known = Object.entries({ ...readManifest().built, ...built });
  const present = known.filter(([target]) => files[`${target}/vd-native.node`]);
  const manifest = { format: FORMAT, built: Object.fromEntries(present), files };
  const partial = `${path}.${process.pid}.tmp`;
  writeFileSync(partial, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(partial, path);
  return manifest;
}

/** Writes the manifest anew if binaries came, went or changed since, device code for one. */
export function refreshManifest() {
  if (JSON.stringify(readManifest().files) !== JSON.stringify(describeBinaries())) writeManifest();
}
