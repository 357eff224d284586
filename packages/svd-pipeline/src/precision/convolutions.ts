import { type Device, type DeviceInfo, devices } from "@vd/kernels-native";
import { mostBytes, usableBytes } from "@vd/vae-opt";
import type { Convolutions, MemoryUse, Precision } from "../options/choices";

/** A way of computing 3x3 convolutions. */
export type ConvolutionMethod = Exclude<Convolutions, "auto">;

/** What decides where nobody has. */
export interface ConvolutionCircumstances {
  /** The denoiser's. */
  device: Device;
  /** Of activations. */
  precision: Precision;
  memory: MemoryUse;
}

/** The architecture whose kernels gain by transforms. */
const HOPPER = "9.0";

/**
 * Returns how 3x3 convolutions are computed: as wanted, and for `auto` by Winograd's transforms where those are faster and the GPU has
 * all the memory that `full` uses, which holds filters of four times the size. known: the machine's devices.
 */
export async function settleConvolutions(
  wanted: Convolutions,
  { device, precision, memory }: ConvolutionCircumstances,
  known: readonly Pick<DeviceInfo, "name" | "computeCapability">[] = devices(),
): Promise<ConvolutionMethod> {
  if (wanted !== "auto") return wanted;
  if (device.kind === "cpu" || precision !== "float16" || memory !== "full") return "direct";
  const { computeCapability } = known.find(({ name }) => name === device.name) ?? {};
  if (computeCapability !== HOPPER) return "direct";
  return (await usableBytes(device, memory)) < mostBytes(memory) ? "direct" : "winograd";
}
