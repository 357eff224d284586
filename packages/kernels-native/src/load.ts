import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { OPS } from "../contract/ops.generated";
import type { Addon } from "./addon-types";
import { VdError } from "./errors";

/** CommonJS without types: finds the prebuild of a package folder for this platform and loads it. */
const nodeGypBuild = createRequire(import.meta.url)("node-gyp-build") as (dir: string) => unknown;

let loaded: Addon | undefined;

/** The package's folder, from src/ as well as from dist/. */
export function packageDir(): string {
  return join(dirname(fileURLToPath(import.meta.url)), "..");
}

function open(): Addon {
  const dir = packageDir();
  const target = `${process.platform}-${process.arch}`;
  try {
    return nodeGypBuild(dir) as Addon;
  } catch (cause) {
    const prebuild = join(dir, "prebuilds", target);
    throw new VdError({
      code: "unsupported",
      where: "@vd/kernels-native",
      expected: `a native addon for ${target} in ${prebuild}`,
      got: existsSync(prebuild) ? `one that does not load (${(cause as Error).message})` : "none",
      hint: "Prebuilt binaries exist for linux-x64 (glibc) and win32-x64; in a checkout run `pnpm build`, which needs g++.",
      cause,
    });
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

/** Loads the addon once. Throws VdError `unsupported` saying what was looked for and what to do. */
export function loadAddon(): Addon {
  if (!loaded) {
    const addon = open();
    checkContract(addon);
    loaded = addon;
  }
  return loaded;
}
