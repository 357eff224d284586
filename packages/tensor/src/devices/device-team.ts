import {
  isVdError,
  listOf,
  OBJECT,
  requireArgument,
  requireFields,
  TEXT,
  VdError,
  type Wanted,
} from "@vd/kernels-native";
import type { NamedDevice } from "./open-devices";

/** A device of a team. */
export interface TeamMember extends NamedDevice {
  /** Its number in the team, from 0. */
  index: number;
}

const NAMED = { label: TEXT, device: OBJECT };

/** Returns an error that says on which device it came about; what is cancelled, and what is no VdError, as it is. */
export function labelled(error: unknown, named: NamedDevice): unknown {
  requireFields("labelled", named, NAMED);
  const { label, device } = named;
  if (!isVdError(error) || error.code === "cancelled") return error;
  const { code, where, expected, got, hint } = error;
  const rest = code === "driver" ? `The other devices go on: leave ${label} (${device.name}) out.` : undefined;
  const hints = [hint, rest].filter((text) => text !== undefined).join(" ");
  return new VdError({
    ...{ code, where: `${label}] [${where}`, expected, got, cause: error },
    ...(hints !== "" && { hint: hints }),
  });
}

const TEAM: Wanted = { ...listOf(OBJECT), expected: "a list of devices with their labels" };

const isCancelled = (error: unknown) => isVdError(error) && error.code === "cancelled";

/** Devices of one process that share a piece of work: each computes a part of its own at the same time. */
export class DeviceTeam {
  readonly members: readonly TeamMember[];

  /** devices: one may stand there several times, which then takes several parts. */
  constructor(devices: readonly NamedDevice[]) {
    requireArgument("DeviceTeam", devices, TEAM);
    this.members = devices.map(({ device, label }, index) => ({ device, label, index }));
  }

  get size(): number {
    return this.members.length;
  }

  /**
   * Calls `body` for the first `count` members at once and returns what they return, in their order. When one fails, the signal
   * that all get fires; this then waits for all to end and throws the error that came first, with the device's name. The other devices are
   * as usable as before.
   *
   * @throws VdError what a body throws; `cancelled` where `signal` fired
   */
  async atOnce<T>(
    body: (member: TeamMember, signal: AbortSignal) => Promise<T>,
    { signal, count = this.size }: { signal?: AbortSignal | undefined; count?: number | undefined } = {},
  ): Promise<T[]> {
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    const failures: unknown[] = [];
    const part = async (member: TeamMember): Promise<T | undefined> => {
      try {
        return await body(member, stop.signal);
      } catch (error) {
        failures.push(labelled(error, member));
        stop.abort(error);
        return undefined;
      }
    };
    try {
      const results = await Promise.all(this.members.slice(0, count).map(part));
      // Those that were stopped for another's sake say so later than that one.
      if (failures.length > 0) throw failures.find((error) => !isCancelled(error)) ?? failures[0];
      return results as T[];
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }
}
