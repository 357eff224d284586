import { VdError } from "@vd/kernels-native";

/** Refuses what is no device, as a caller without types may have given its name. @throws VdError `attr` */
export function requireDevice(where: string, device: unknown): void {
  if (typeof (device as { compile?: unknown } | null | undefined)?.compile === "function") return;
  throw new VdError({
    code: "attr",
    where,
    expected: "a device",
    got: typeof device === "string" ? JSON.stringify(device) : device === null ? "null" : typeof device,
    hint: "openDevice opens one.",
  });
}
