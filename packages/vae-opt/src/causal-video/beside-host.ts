import type { Device } from "@vd/kernels-native";

/** Whether a device computes beside the host, in memory of its own: then the host reads results while rows run, and memory that both
 *  reach takes time to prepare. */
export const worksBesideHost = (device: Pick<Device, "kind">): boolean => device.kind !== "cpu";
