import { type Device, devices, FLAG, OBJECT, oneOfThese, optional, requireFields, TEXT } from "@vd/kernels-native";
import { normedLinears, type RewriteCall, winogradConvolutions } from "@vd/tensor";
import { isHopper, type KnownDevices, mostBytes, usableBytes } from "@vd/vae-opt";
import type { Convolutions, MemoryUse, Precision } from "../options/choices";

/** A way of computing 3x3 convolutions: `winograd` takes transforms wherever they gain, `unet` in the UNet alone, and `compact` there
 *  for filters that stay small. */
export type ConvolutionMethod = "direct" | "compact" | "unet" | "winograd";

/** Those with transforms that `auto` takes, the fastest first. */
const AUTOMATIC = ["winograd", "unet", "compact"] as const;

/** Of 1280 to 640 channels: transforms of larger filters gain more, but take more memory while the UNet runs. */
const COMPACT_FILTERS = 1280 * 640;

const UNET_REWRITINGS: Readonly<Record<ConvolutionMethod, RewriteCall | undefined>> = {
  direct: undefined,
  compact: winogradConvolutions({ mostFilters: COMPACT_FILTERS }),
  unet: winogradConvolutions(),
  winograd: winogradConvolutions(),
};

/** How the UNet's calls are recorded. */
export interface UnetRecording {
  /** How 3x3 convolutions are computed; default direct. */
  convolutions?: ConvolutionMethod | undefined;
  /** Whether linear layers normalise tokens by themselves where that gains; default false. */
  fusedLayerNorm?: boolean | undefined;
}

/** Returns the rewritings by which the UNet's calls are recorded so, in the order in which a graph is given them; none where they are
 *  recorded as they come. */
export function unetRewritings(recording: UnetRecording): RewriteCall[] {
  requireFields("unetRewritings", recording, {
    convolutions: optional(oneOfThese(Object.keys(UNET_REWRITINGS))),
    fusedLayerNorm: optional(FLAG),
  });
  const { convolutions = "direct", fusedLayerNorm = false } = recording;
  const rewritings = [UNET_REWRITINGS[convolutions], fusedLayerNorm ? normedLinears() : undefined];
  return rewritings.filter((rewriting) => rewriting !== undefined);
}

/** Returns whether convolutions and linear layers on a device normalise what they read by themselves where that gains: the decoder's channel
 *  groups, which also takes less memory, and the denoiser's tokens. known: the machine's devices. */
export function normsAreFused(device: Device, precision: Precision, known: KnownDevices = devices()): boolean {
  requireFields("normsAreFused", device, { name: TEXT });
  return precision !== "float32" && isHopper(device, known);
}

/** What decides where nobody has. */
export interface ConvolutionCircumstances {
  /** The denoiser's. */
  device: Device;
  /** Of activations. */
  precision: Precision;
  memory: MemoryUse;
  /** Whether a generation that computes them so stays within the memory that it may use. Default: where the GPU has all that `full` uses. */
  fits?: ((method: ConvolutionMethod) => Promise<boolean>) | undefined;
}

/**
 * Returns how 3x3 convolutions are computed: as wanted, and for `auto` in the fastest way that fits into the memory, where transforms are
 * faster at all and the memory use is `full`. known: the machine's devices.
 */
export async function settleConvolutions(
  wanted: Convolutions,
  circumstances: ConvolutionCircumstances,
  known: KnownDevices = devices(),
): Promise<ConvolutionMethod> {
  requireFields("settleConvolutions", circumstances, { device: OBJECT });
  const { device, precision, memory, fits } = circumstances;
  if (wanted !== "auto") return wanted;
  if (device.kind === "cpu" || precision !== "float16" || memory !== "full") return "direct";
  if (!isHopper(device, known)) return "direct";
  const hasAll = async () => (await usableBytes(device, memory)) >= mostBytes(memory);
  for (const method of AUTOMATIC) if (await (fits ?? hasAll)(method)) return method;
  return "direct";
}
