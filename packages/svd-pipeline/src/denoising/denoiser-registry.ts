import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FUNCTION, requireArgument, requireText, VdError } from "@vd/kernels-native";
import { nearestNames } from "@vd/tensor";
import type { DenoiserFactory } from "./denoiser";

/** Packages that register denoisers when they are loaded, by the names that they register. */
const KNOWN_PACKAGES: Readonly<Record<string, string>> = { onnxruntime: "@vd/tensorrt", tensorrt: "@vd/tensorrt" };

/** Shared by all copies of this package in a process (ESM and CommonJS are two), so that whichever copy the registering
 *  package sees is the one that is asked. */
const KEY = Symbol.for("@vd/svd-pipeline.denoisers");

function registry(): Map<string, () => DenoiserFactory> {
  const holder = globalThis as { [KEY]?: Map<string, () => DenoiserFactory> };
  holder[KEY] ??= new Map();
  return holder[KEY];
}

/**
 * Makes a denoiser known under `name`, with the options that it has by default. A second one of the name replaces the
 * first.
 *
 * @example
 * ```ts
 * import { type DenoiserFactory, registerDenoiser } from "@vd/svd-pipeline";
 *
 * const zeros: DenoiserFactory = {
 *   name: "zeros",
 *   prepare: async () => undefined,
 *   open: async () => ({
 *     predict: async ({ latents }) => new Float32Array(latents.length),
 *     close: async () => {},
 *   }),
 * };
 * registerDenoiser("zeros", () => zeros); // fromPretrained(dir, { denoiser: "zeros" })
 * ```
 */
export function registerDenoiser(name: string, make: () => DenoiserFactory): void {
  requireText("registerDenoiser name", name, "a denoiser's name");
  requireArgument("registerDenoiser make", make, FUNCTION);
  registry().set(name, make);
}

/** Names that {@link registerDenoiser} made known. */
export const denoiserNames = (): string[] => [...registry().keys()].sort();

/** Loads a package from where this one lies, from where the program's main file lies, or from the folder in which it
 *  runs. False if it is in none of them. */
async function load(name: string): Promise<boolean> {
  const folders = [process.argv[1], join(process.cwd(), "package.json")].filter((path) => path !== undefined);
  const fromElsewhere = folders.map((path) => async () => {
    const { href } = pathToFileURL(createRequire(pathToFileURL(path)).resolve(name));
    return import(/* @vite-ignore */ href);
  });
  for (const attempt of [() => import(/* @vite-ignore */ name), ...fromElsewhere])
    try {
      await attempt();
      return true;
    } catch (error) {
      if (!isMissing(error, name)) throw error;
    }
  return false;
}

function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const isAbsent =
    code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND" || /Cannot find (package|module)/.test(message);
  return isAbsent && message.includes(name);
}

/**
 * The denoiser that is registered as `name`; the package that registers it is loaded if need be.
 *
 * @throws VdError `attr` for an unknown name, `unsupported` if its package is not installed
 */
export async function findDenoiser(name: string): Promise<DenoiserFactory> {
  const home = KNOWN_PACKAGES[name];
  const isInstalled = registry().has(name) || home === undefined || (await load(home));
  const make = registry().get(name);
  if (make) return make();
  const known = [...new Set([...denoiserNames(), ...Object.keys(KNOWN_PACKAGES)])];
  if (isInstalled)
    throw new VdError({
      code: "attr",
      where: "denoiser",
      expected: `one of ${known.join(", ")}`,
      got: JSON.stringify(name),
      hint: `The nearest name is ${nearestNames(name, known, 1)}.`,
    });
  throw new VdError({
    code: "unsupported",
    where: "denoiser",
    expected: `the package ${home}, which runs ${name}`,
    got: "no such package",
    hint: `Install ${home}, and if it lies elsewhere load it first: import "${home}".`,
  });
}
