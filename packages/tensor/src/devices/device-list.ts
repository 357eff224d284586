/** Devices as they may be named: `cuda:1`, its number, or `cpu`. */
export type DeviceList = readonly (string | number)[];

/** How many devices can share a generation. */
export const MOST_DEVICES = 16;

/** A regular expression that the name of one device matches. */
export const DEVICE_PATTERN = "^(cpu|(cuda:)?[0-9]{1,2})$";

const isDevice = (value: unknown): boolean =>
  typeof value === "number"
    ? Number.isInteger(value) && value >= 0 && value < 100
    : typeof value === "string" && new RegExp(DEVICE_PATTERN).test(value);

/** Returns a device's one name: `cuda:1` for 1. */
export const deviceLabel = (device: string | number): string =>
  /^[0-9]+$/.test(String(device)) ? `cuda:${Number(device)}` : String(device);

/** The kind of a device by its one name. */
export const kindOfDevice = (label: string): "cpu" | "cuda" => (label === "cpu" ? "cpu" : "cuda");

/** True for a list of devices of one kind. */
export function isDeviceList(value: unknown): value is DeviceList {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_DEVICES || !value.every(isDevice))
    return false;
  return new Set((value as DeviceList).map((device) => kindOfDevice(deviceLabel(device)))).size === 1;
}
