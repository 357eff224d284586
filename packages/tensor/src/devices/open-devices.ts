import { availableParallelism } from "node:os";
import {
  COUNT,
  type CpuOptions,
  type Device,
  environment,
  openDevice,
  optional,
  requireArgument,
  requireFields,
} from "@vd/kernels-native";
import { DEVICES, kindOfDevice } from "./device-list";

/** A device with the name that messages call it by. */
export interface NamedDevice {
  device: Device;
  /** `cuda:1`; `cpu:0`, `cpu:1` where the CPU is divided. */
  label: string;
}

/** Threads of each of `count` CPU devices: together as many as one would have, at least one each. */
function dividedThreads(count: number, threads: number | undefined): number[] {
  const total = threads ?? environment.threads() ?? availableParallelism();
  return Array.from({ length: count }, (_, i) => Math.max(Math.floor(total / count) + Number(i < total % count), 1));
}

/**
 * Opens the devices of a list. labels: as `deviceLabel` makes them; `cpu` several times divides the threads among as many devices. threads, math: of the CPU.
 *
 * @throws VdError `unsupported` saying why one cannot be used
 */
export function openDevices(
  labels: readonly string[],
  options: Pick<CpuOptions, "threads" | "math"> = {},
): NamedDevice[] {
  requireArgument("openDevices", labels, DEVICES);
  requireFields("openDevices", options, { threads: optional(COUNT) });
  const { threads, math } = options;
  const shares = dividedThreads(labels.length, threads);
  return labels.map((label, i) =>
    kindOfDevice(label) === "cpu"
      ? { device: openDevice("cpu", { threads: shares[i], math }), label: labels.length > 1 ? `cpu:${i}` : label }
      : { device: openDevice("cuda", { index: Number(label.slice("cuda:".length)) }), label },
  );
}
