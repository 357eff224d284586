import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { OPS } from "../contract/ops.generated";
import type { Addon } from "./addon-types";
import { type Host, loadProblem, nodeProblem } from "./diagnose";
import { environment } from "./env";
import { VdError } from "./errors";
import { type VerifiedFile, verifyFolder } from "./verify";

/** CommonJS without types: finds the prebuild of a package folder for this platform and loads it. */
const nodeGypBuild = createRequire(import.meta.url)("node-gyp-build") as (dir: string) => unknown;

let loaded: Addon | undefined;

/** The package's folder, from src/ as well as from dist/. */
export function packageDir(): string {
  return join(dirname(fileURLToPath(import.meta.url)), "..");
}

/** The running process and what it can load. */
function host(): Host {
  const { platform, arch } = process;
  const prebuild = join(packageDir(), "prebuilds", `${platform}-${arch}`);
  return {
    platform,
    arch,
    nodeVersion: process.versions.node,
    glibcVersion: platform === "linux" ? glibcVersion() : undefined,
    prebuild,
    hasPrebuild: existsSync(prebuild),
  };
}

/** The version of glibc, or undefined with another C library. */
function glibcVersion(): string | undefined {
  // Without this, the report asks for the names of all network peers.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime;
}

/**
 * Compares this package's binaries for this machine, and all its device code, with the SHA-256 that its manifests have
 * of them; `VD_VERIFY=1` does so whenever the addon is loaded.
 *
 * @throws VdError `io` for the first that differs
 * @example
 * ```ts
 * import { verifyPrebuilds } from "@vd/kernels-native";
 *
 * console.log(verifyPrebuilds().length, "binaries are the published ones");
 * ```
 */
export function verifyPrebuilds(): VerifiedFile[] {
  return verifyFolder(join(packageDir(), "prebuilds"), `${process.platform}-${process.arch}`);
}

function open(): Addon {
  const outdated = nodeProblem({ nodeVersion: process.versions.node });
  if (outdated) throw outdated;
  if (environment.verify()) verifyPrebuilds();
  try {
    return nodeGypBuild(packageDir()) as Addon;
  } catch (cause) {
    throw loadProblem(host(), cause);
  }
}

function checkContract(addon: Addon): void {
  const theirs = addon.opIds().join(" ");
  const ours = Object.keys(OPS).join(" ");
  if (theirs === ours) return;
  throw new VdError({
    code: "internal",
    where: "@vd/kernels-native",
    expected: "an addon built from this contract",
    got: `one with the ops ${theirs}`,
    hint: "Rebuild it with `pnpm build`.",
  });
}

/**
 * Loads the addon once.
 *
 * @throws VdError `unsupported` saying what was looked for and what to do
 */
export function loadAddon(): Addon {
  if (!loaded) {
    const addon = open();
    checkContract(addon);
    loaded = addon;
  }
  return loaded;
}
