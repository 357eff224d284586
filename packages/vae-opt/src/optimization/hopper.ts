import { type Device, type DeviceInfo, devices, requireFields, TEXT } from "@vd/kernels-native";

/** What is known of a machine's devices. */
export type KnownDevices = readonly Pick<DeviceInfo, "name" | "computeCapability">[];

/** The architecture that Winograd's transforms, norms inside convolutions and attention in 8 bits have kernels of their own for. */
const HOPPER = "9.0";

/** Returns whether a device is a GPU of the Hopper architecture. known: the machine's devices. */
export function isHopper(device: Device, known: KnownDevices = devices()): boolean {
  requireFields("isHopper", device, { name: TEXT });
  return known.find(({ name }) => name === device.name)?.computeCapability === HOPPER;
}
