import { type Device, type DeviceKind, openDevice, VdError } from "@vd/kernels-native";
import type { WorkObserver } from "@vd/tensor";

/** What an option can be told by, before the code that uses it looks closer. */
type OptionKind = "boolean" | "function" | "signal" | "observer" | "any";

/** The options of a call by their names. */
export type OptionKinds = Readonly<Record<string, OptionKind>>;

const WANTED: Readonly<Record<Exclude<OptionKind, "any">, string>> = {
  boolean: "true or false",
  function: "a function",
  signal: "an AbortSignal",
  observer: "a WorkObserver, such as a profiler",
};

const isSignal = (value: object): boolean =>
  typeof (value as AbortSignal).addEventListener === "function" && "aborted" in value;

const OBSERVER_METHODS = ["scope", "planLoaded", "planRan", "planFreed"] as const satisfies (keyof WorkObserver)[];
const isObserver = (value: object): boolean =>
  OBSERVER_METHODS.every((name) => typeof (value as Partial<WorkObserver>)[name] === "function");

function isOfKind(value: unknown, kind: keyof typeof WANTED): boolean {
  if (kind !== "signal" && kind !== "observer") return typeof value === kind;
  return typeof value === "object" && value !== null && (kind === "signal" ? isSignal(value) : isObserver(value));
}

/**
 * Checks options that a caller gives: an object with known names. A misspelt limit would otherwise be none.
 *
 * @throws VdError `attr`
 */
export function checkCallOptions(where: string, options: unknown, kinds: OptionKinds): void {
  const wrong = (name: string, expected: string, got: string): VdError =>
    new VdError({ code: "attr", where: `${where}] [${name}`, expected, got });
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw wrong("options", "an object", Array.isArray(options) ? "a list" : String(options));
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name]! : undefined;
    if (kind === undefined) throw wrong(name, `one of ${Object.keys(kinds).join(", ")}`, "an unknown option");
    if (kind !== "any" && value !== undefined && !isOfKind(value, kind)) throw wrong(name, WANTED[kind], String(value));
  }
}

/**
 * Opens a device by its kind; one that is open already is taken as it is.
 *
 * @throws VdError `attr` for what is neither, `unsupported` for a kind that this machine does not have
 */
export function deviceOf(device: DeviceKind | Device): Device {
  const isOpen = typeof device === "object" && device !== null && typeof device.kind === "string";
  return isOpen ? device : openDevice(device as DeviceKind);
}
