import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { OPS } from "../contract/ops.generated";
import { installedImageDir, packagedAddon, prebuildsDir } from "../lib/locate.cjs";
import type { Addon } from "./addon-types";
import { type Host, loadProblem, nodeProblem } from "./diagnose";
import { environment } from "./env";
import { VdError } from "./errors";
import { type VerifiedFile, verifyBinaries } from "./verify";

const loadModule = createRequire(import.meta.url);

let loaded: Addon | undefined;

/** The running process and what it can load. */
function host(): Host {
  const { platform, arch } = process;
  const prebuild = join(prebuildsDir, `${platform}-${arch}`);
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
  return verifyBinaries(join(prebuildsDir, `${process.platform}-${process.arch}`), installedImageDir());
}

/** Path of the addon that `VD_ADDON` names, else of the package's. Throws VdError `unsupported` where both that and
 *  `VD_VERIFY=1` are set, and what node-gyp-build throws where the package has none for this machine. */
export function addonPath(): string {
  const named = environment.addon();
  if (named === undefined) return packagedAddon();
  if (!environment.verify()) return resolve(named);
  throw new VdError({
    code: "unsupported",
    where: "VD_ADDON",
    expected: "the package's own addon beside VD_VERIFY=1",
    got: JSON.stringify(named),
    hint: "Unset one of both variables: no manifest knows that file.",
  });
}

/** An addon that somebody named is what they meant or an error; nothing is guessed about the machine then. */
function namedProblem(path: string, cause: unknown): VdError {
  const [expected, got] = ["an addon that loads", `${path}: ${(cause as Error).message}`];
  return new VdError({ code: "unsupported", where: "VD_ADDON", expected, got, cause });
}

function open(): Addon {
  const outdated = nodeProblem({ nodeVersion: process.versions.node });
  if (outdated) throw outdated;
  const named = environment.addon();
  if (environment.verify() && named === undefined) verifyPrebuilds();
  try {
    return loadModule(addonPath()) as Addon;
  } catch (cause) {
    if (cause instanceof VdError) throw cause;
    throw named === undefined ? loadProblem(host(), cause) : namedProblem(named, cause);
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
