import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VdError } from "./errors";

/** What a folder's manifest.json says of one binary. */
interface ManifestEntry {
  bytes: number;
  sha256: string;
}

/** A binary that was compared with the manifest. */
export interface VerifiedFile {
  path: string;
  bytes: number;
  sha256: string;
}

const REINSTALL = "Install the package again; in a checkout run `pnpm build`.";

function readManifest(folder: string): Record<string, ManifestEntry> {
  const path = join(folder, "manifest.json");
  try {
    const { files } = JSON.parse(readFileSync(path, "utf8")) as { files?: Record<string, ManifestEntry> };
    if (files && typeof files === "object") return files;
    throw new Error("no list of files in it");
  } catch (cause) {
    const got = (cause as Error).message;
    const expected = "the list of the folder's binaries and their SHA-256";
    throw new VdError({ code: "io", where: path, expected, got, hint: REINSTALL, cause });
  }
}

function verifyFile(path: string, entry: ManifestEntry | undefined): VerifiedFile {
  const fail = (expected: string, got: string, cause?: unknown): never => {
    throw new VdError({ code: "io", where: path, expected, got, hint: REINSTALL, cause });
  };
  if (!entry) return fail("a binary that the manifest.json beside it names", "one that it does not");
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (cause) {
    return fail("a readable file", (cause as Error).message, cause);
  }
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (sha256 !== entry.sha256)
    fail(`SHA-256 ${entry.sha256} (${entry.bytes} bytes)`, `${sha256} (${content.length} bytes)`);
  return { path, bytes: content.length, sha256 };
}

/** Names of the device code in a folder; none where there is no folder. */
function imagesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /\.(fatbin|ptx)$/.test(name));
  } catch {
    return [];
  }
}

/** Compares the binaries in a folder with its manifest; those that the manifest has must be there. */
function verifyFolder(folder: string, names: readonly string[]): VerifiedFile[] {
  const files = readManifest(folder);
  const all = [...new Set([...names, ...Object.keys(files)])];
  return all.map((name) => verifyFile(join(folder, name), files[name]));
}

/**
 * Compares the addon in `addonDir` and all device code in `imageDir`, where there is one, with the SHA-256 that the
 * manifest.json in their folders has of them. Returns what was compared.
 *
 * @throws VdError `io` for the first that differs
 */
export function verifyBinaries(addonDir: string, imageDir: string | undefined): VerifiedFile[] {
  const addon = verifyFolder(addonDir, ["vd-native.node"]);
  const images = imageDir === undefined ? [] : imagesIn(imageDir);
  return imageDir !== undefined && images.length > 0 ? [...addon, ...verifyFolder(imageDir, images)] : addon;
}
