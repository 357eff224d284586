import {
  type Device,
  type DeviceInfo,
  type DeviceKind,
  devices,
  FUNCTION,
  openDevice,
  requireArgument,
  shown,
  VdError,
} from "@vd/kernels-native";

/** What computes: a kind of device, one GPU of several, or `auto` for the first GPU that can be used, else the CPU. */
export type DeviceName = DeviceKind | "auto" | `cuda:${number}`;

/** GPUs that may be named by their number. */
const MOST_GPUS = 64;

/** The names of single GPUs: `cuda:0` and so on. */
export const GPU_NAMES: readonly DeviceName[] = Array.from({ length: MOST_GPUS }, (_, i) => `cuda:${i}` as const);

/** A device by its kind and, of several GPUs, which one. */
export interface DevicePlace {
  kind: DeviceKind;
  /** From 0; that of the CPU is 0. */
  index: number;
}

/** The GPUs among the devices, with the names that choose them. */
const gpusOf = (all: readonly DeviceInfo[]) =>
  all.filter(({ kind }) => kind === "cuda").map((gpu, index) => ({ ...gpu, index, choice: `cuda:${index}` }));

/** All devices in words: `cpu, cuda:0 (NVIDIA H100), cuda:1 (NVIDIA T4: it is too old.)`. */
function listed(all: readonly DeviceInfo[]): string {
  const names = gpusOf(all).map(({ choice, name, usable, reason }) =>
    usable ? `${choice} (${name})` : `${choice} (${name}, which cannot be used: ${reason})`,
  );
  return ["cpu", ...names].join(", ");
}

/**
 * Returns the device that a name means: `cpu`; `cuda`, the first GPU; `cuda:1`, the second; `auto`, the first GPU that can be used, or the
 * CPU where there is none. all: the devices of the machine, looked up where the name needs them.
 *
 * @throws VdError `attr` for what is no name of a device, `unsupported` with the devices that there are, for a GPU that is not there
 */
export function chooseDevice(name: DeviceName, all: () => readonly DeviceInfo[] = devices): DevicePlace {
  requireArgument("chooseDevice all", all, FUNCTION);
  if (name === "cpu") return { kind: "cpu", index: 0 };
  if (name === "auto") {
    const gpu = gpusOf(all()).find(({ usable }) => usable);
    return gpu ? { kind: "cuda", index: gpu.index } : { kind: "cpu", index: 0 };
  }
  if (typeof name !== "string" || !/^cuda(:\d+)?$/.test(name))
    throw new VdError({
      code: "attr",
      where: "device",
      expected: "cpu, cuda, cuda:0, cuda:1, … or auto",
      got: shown(name),
    });
  const [, digits] = name.split(":");
  // Without a number the device says itself why it cannot be used.
  if (digits === undefined) return { kind: "cuda", index: 0 };
  const index = Number(digits);
  const found = all();
  if (gpusOf(found)[index]?.usable) return { kind: "cuda", index };
  throw new VdError({
    code: "unsupported",
    where: "device",
    expected: `one of the devices of this machine: ${listed(found)}`,
    got: name,
    hint: 'Choose one that can be used, or device "auto".',
  });
}

/**
 * Opens the device that a name means. threads: of the CPU; default `VD_THREADS` or the number of cores.
 *
 * @throws VdError `attr` for what is no name of a device, `unsupported` for one that is not there or cannot be used
 * @example
 * ```ts
 * import { openNamedDevice } from "@vd/tensor";
 *
 * console.log(openNamedDevice("auto").kind);
 * ```
 */
export function openNamedDevice(name: DeviceName, threads?: number | undefined): Device {
  const { kind, index } = chooseDevice(name);
  return openDevice(kind, kind === "cuda" ? { index } : { threads });
}
