import { VdError } from "@vd/kernels-native";
import { checkCallOptions } from "../call-options";
import type { Optimizable, OptimizableModel, OptimizationOptions } from "./optimizable-model";
import { checkPrecision, type VaePrecision } from "./switches";

/** What a caller gave for a model with switches. @returns VdError `attr` */
function noSwitches(where: string, model: unknown): VdError {
  const isObject = typeof model === "object" && model !== null;
  const got = isObject ? (model.constructor?.name ?? "an object") : model === null ? "null" : typeof model;
  const hint = "Other autoencoders always run fused; the type that they compute in is an option of opening them.";
  return new VdError({
    ...{ code: "attr", where, expected: "a model of this package with switches, such as SvdAutoencoder", got },
    ...(isObject ? { hint } : {}),
  });
}

/**
 * Turns on what makes a model faster on this machine, and returns it: measured kernel variants, fusions, 16-bit
 * activations. The name is that of the machines it was first made for; what applies is turned on everywhere, and what does
 * not is said in `model.optimizationReport`. `model.disableOptimizations()` goes back.
 *
 * @throws VdError `attr` for an unknown switch
 * @example
 * ```ts
 * import { optimizeForWindowsBlackwell, SvdAutoencoder } from "@vd/vae-opt";
 *
 * const vae = optimizeForWindowsBlackwell(await SvdAutoencoder.fromPretrained("models/tiny-svd"), { autotune: false });
 * for (const { name, state, reason } of vae.optimizationReport.changes) console.log(name, state, reason);
 * ```
 */
export function optimizeForWindowsBlackwell<Model extends Optimizable>(
  model: Model,
  options: OptimizationOptions = {},
): Model {
  if (typeof model?.enableWindowsBlackwellOptimizations !== "function")
    throw noSwitches("optimizeForWindowsBlackwell", model);
  return model.enableWindowsBlackwellOptimizations(options);
}

/** What a scope of another precision is. */
export interface AutocastOptions {
  /** Type of activations inside the scope. */
  precision: VaePrecision;
  /** False for a scope that changes nothing. Default true. */
  enabled?: boolean | undefined;
}

/**
 * Opens a scope in which a model's activations have another type. Calls that begin inside it use it, whatever else is on;
 * scopes may be nested, the innermost counts. On the CPU activations stay float32.
 *
 * @returns what closes the scope: with `using` at the end of the block
 * @throws VdError `attr` for an unknown precision or option, or what is no model
 * @example
 * ```ts
 * import { configureAutocast, SvdAutoencoder } from "@vd/vae-opt";
 *
 * const vae = await SvdAutoencoder.fromPretrained("models/tiny-svd");
 * {
 *   using scope = configureAutocast(vae, { precision: "float16" });
 *   console.log(scope.precision);
 * }
 * ```
 */
export function configureAutocast(
  model: OptimizableModel,
  options: AutocastOptions,
): Disposable & { readonly precision: VaePrecision } {
  checkCallOptions("configureAutocast", options ?? {}, { precision: "any", enabled: "any" });
  const { precision, enabled = true } = options ?? {};
  if (typeof enabled !== "boolean")
    throw new VdError({ code: "attr", where: "enabled", expected: "true or false", got: String(enabled) });
  if (typeof model?.enterPrecision !== "function") throw noSwitches("configureAutocast", model);
  const checked = checkPrecision("precision", precision);
  const leave = enabled ? model.enterPrecision(checked) : () => {};
  return { precision: checked, [Symbol.dispose]: leave };
}
