import { type Device, devices } from "@vd/kernels-native";
import { type RewriteCall, winogradConvolutions } from "@vd/tensor";
import { mostBytes, usableBytes } from "@vd/vae-opt";
import type { Convolutions, MemoryUse, Precision } from "../options/choices";
import { isHopper, type KnownDevices } from "./hopper";

/** A way of computing 3x3 convolutions: `compact` takes transforms in the UNet alone, for filters that stay small. */
export type ConvolutionMethod = "direct" | "compact" | "winograd";

/** Of 1280 to 640 channels: transforms of larger filters gain more, but with them a generation would not decode within the memory that
 *  full speed may take. */
const COMPACT_FILTERS = 1280 * 640;

const UNET_REWRITINGS: Readonly<Record<ConvolutionMethod, RewriteCall | undefined>> = {
  direct: undefined,
  compact: winogradConvolutions({ mostFilters: COMPACT_FILTERS }),
  winograd: winogradConvolutions(),
};

/** Returns how the UNet's calls are recorded; undefined where they are recorded as they come. */
export const unetRewriting = (method: ConvolutionMethod = "direct"): RewriteCall | undefined => UNET_REWRITINGS[method];

/** What decides where nobody has. */
export interface ConvolutionCircumstances {
  /** The denoiser's. */
  device: Device;
  /** Of activations. */
  precision: Precision;
  memory: MemoryUse;
}

/**
 * Returns how 3x3 convolutions are computed: as wanted, and for `auto` by transforms of small filters where those are faster and the GPU
 * has all the memory that `full` uses. known: the machine's devices.
 */
export async function settleConvolutions(
  wanted: Convolutions,
  { device, precision, memory }: ConvolutionCircumstances,
  known: KnownDevices = devices(),
): Promise<ConvolutionMethod> {
  if (wanted !== "auto") return wanted;
  if (device.kind === "cpu" || precision !== "float16" || memory !== "full") return "direct";
  if (!isHopper(device, known)) return "direct";
  return (await usableBytes(device, memory)) < mostBytes(memory) ? "direct" : "compact";
}
