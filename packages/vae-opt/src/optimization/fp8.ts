import { type Device, devices, requireArgument } from "@vd/kernels-native";
import { OPEN_DEVICE } from "../wanted";

/** Whether 8-bit floats can be used, and why not. */
export interface Availability {
  available: boolean;
  /** A sentence. */
  reason: string;
}

/** The first compute capability with matrix products of 8-bit floats. */
const FIRST_CAPABILITY = 8.9;

/**
 * Returns whether models of this package can compute in 8-bit floats on a device, and if not, why.
 *
 * @throws VdError `attr` for what is no open device
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { isFp8Available } from "@vd/vae-opt";
 *
 * const { available, reason } = isFp8Available(openDevice("cpu"));
 * console.log(available, reason); // false, and why
 * ```
 */
export function isFp8Available(device: Device): Availability {
  const no = (reason: string): Availability => ({ available: false, reason });
  requireArgument("isFp8Available", device, OPEN_DEVICE);
  if (device.kind === "cpu") return no("The CPU has no 8-bit floating-point arithmetic.");
  const { computeCapability = "0.0" } = devices().find(({ name }) => name === device.name) ?? {};
  if (Number(computeCapability) < FIRST_CAPABILITY)
    return no(
      `${device.name} has compute capability ${computeCapability}; 8-bit floats need ${FIRST_CAPABILITY} or more.`,
    );
  return {
    available: true,
    reason: `${device.name} multiplies 8-bit floats: convolutions of 32 channels and more use them.`,
  };
}
