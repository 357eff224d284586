import type { Device, DeviceInfo } from "@vd/kernels-native";

/** What is known of a machine's devices. */
export type KnownDevices = readonly Pick<DeviceInfo, "name" | "computeCapability">[];

/** The architecture that Winograd's transforms and attention in 8 bits have kernels of their own for. */
const HOPPER = "9.0";

/** True for a GPU of the Hopper architecture. */
export function isHopper(device: Device, known: KnownDevices): boolean {
  return known.find(({ name }) => name === device.name)?.computeCapability === HOPPER;
}
