import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VdError } from "./errors";

/** What prebuilds/manifest.json says of one binary. */
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

function readManifest(prebuilds: string): Record<string, ManifestEntry> {
  const path = join(prebuilds, "manifest.json");
  try {
    const { files } = JSON.parse(readFileSync(path, "utf8")) as { files?: Record<string, ManifestEntry> };
    if (files && typeof files === "object") return files;
    throw new Error("no list of files in it");
  } catch (cause) {
    const got = (cause as Error).message;
    const expected = "the list of the package's binaries and their SHA-256";
    throw new VdError({ code: "io", where: path, expected, got, hint: REINSTALL, cause });
  }
}

function verifyFile(path: string, entry: ManifestEntry | undefined): VerifiedFile {
  const fail = (expected: string, got: string, cause?: unknown): never => {
    throw new VdError({ code: "io", where: path, expected, got, hint: REINSTALL, cause });
  };
  if (!entry) return fail("a binary that prebuilds/manifest.json names", "one that it does not");
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
    return readdirSync(folder).filter((name) => name.endsWith(".fatbin"));
  } catch {
    return [];
  }
}

/** Compares the addon for `target` (e.g. `linux-x64`) and all device code below `prebuilds` with the SHA-256 that
 *  prebuilds/manifest.json has of them. Returns what was compared. Throws VdError `io` for the first that differs. */
export function verifyFolder(prebuilds: string, target: string): VerifiedFile[] {
  const files = readManifest(prebuilds);
  const names = [`${target}/vd-native.node`, ...imagesIn(join(prebuilds, "cuda")).map((name) => `cuda/${name}`)];
  return names.map((name) => verifyFile(join(prebuilds, ...name.split("/")), files[name]));
}
