import { availableParallelism } from "node:os";
import { type Device, type DeviceKind, environment, openDevice } from "@vd/kernels-native";
import { DeviceTeam } from "@vd/tensor";

/** The devices that a pipeline works with. */
export interface OpenDevices {
  /** The first one, or the only one. */
  device: Device;
  /** All of them, where there are several. */
  team: DeviceTeam | undefined;
}

/** Threads of each of `count` CPU devices: together as many as one would have, at least one each. */
function dividedThreads(count: number, threads: number | undefined): number[] {
  const total = threads ?? environment.threads() ?? availableParallelism();
  return Array.from({ length: count }, (_, i) => Math.max(Math.floor(total / count) + Number(i < total % count), 1));
}

/**
 * Opens the devices of a list, or the device of a kind.
 *
 * @throws VdError `unsupported` saying why one cannot be used
 */
export function openDevices(
  kind: DeviceKind,
  labels: readonly string[] | undefined,
  threads: number | undefined,
): OpenDevices {
  if (labels === undefined) return { device: openDevice(kind, { threads }), team: undefined };
  const shares = dividedThreads(labels.length, threads);
  const members = labels.map((label, i) =>
    kind === "cpu"
      ? { device: openDevice("cpu", { threads: shares[i] }), label: `cpu:${i}` }
      : { device: openDevice("cuda", { index: Number(label.slice("cuda:".length)) }), label },
  );
  return { device: members[0]!.device, team: members.length > 1 ? new DeviceTeam(members) : undefined };
}
