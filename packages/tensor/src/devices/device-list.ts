import { listOf, requireArgument, type Wanted } from "@vd/kernels-native";

/** Devices as they may be named: `cuda:1`, its number, or `cpu`. */
export type DeviceList = readonly (string | number)[];

/** How many devices can share a generation. */
export const MOST_DEVICES = 16;

/** A regular expression that the name of one device matches. */
export const DEVICE_PATTERN = "^(cpu|(cuda:)?[0-9]{1,2})$";

function isDevice(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && value >= 0 && value < 100;
  return typeof value === "string" && new RegExp(DEVICE_PATTERN).test(value);
}

/** A device by its name or its number. */
const DEVICE: Wanted = { expected: "a device, as cpu, cuda:1 or 1", fits: isDevice };

/** The one names of several devices. */
export const DEVICES: Wanted = { ...listOf(DEVICE), expected: "a list of devices, as cpu or cuda:1" };

/** Returns a device's one name: `cuda:1` for 1. */
export function deviceLabel(device: string | number): string {
  requireArgument("device", device, DEVICE);
  return /^[0-9]+$/.test(String(device)) ? `cuda:${Number(device)}` : String(device);
}

/** The kind of a device by its one name. */
export function kindOfDevice(label: string): "cpu" | "cuda" {
  requireArgument("device", label, DEVICE);
  return label === "cpu" ? "cpu" : "cuda";
}

/** True for a list of devices of one kind. */
export function isDeviceList(value: unknown): value is DeviceList {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_DEVICES || !value.every(isDevice))
    return false;
  return new Set((value as DeviceList).map((device) => kindOfDevice(deviceLabel(device)))).size === 1;
}
