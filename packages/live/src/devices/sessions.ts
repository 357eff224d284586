import { shown, VdError } from "@vd/kernels-native";
import { type DeviceList, deviceLabel, isDeviceList, labelled, openDevices } from "@vd/tensor";
import { systemClock } from "../session/clock";
import { createSessionWithClock } from "../session/create";
import type { LiveSession, LiveSessionOptions } from "../session/types";

/** What a session is told where its device is chosen for it. */
export type SharedSessionOptions = Omit<LiveSessionOptions, "device" | "devices" | "threads">;

/** How sessions are spread over devices. */
export interface LiveSessionsOptions {
  /** Devices of one kind: GPUs by number or as `cuda:1`, or `cpu` several times, which divides the threads. */
  devices: DeviceList;
  /** Threads of the CPU, all devices together; default `VD_THREADS` or the number of cores. */
  threads?: number | undefined;
}

/**
 * Creates several sessions that run at the same time, the first on the first device, the next on the next, and so on from the first
 * again. Each is as it would be alone: the same frames, and a device that is lost ends the sessions on it and no others.
 *
 * @throws VdError as `createLiveSession`, with the name of the device; those that were created are then closed
 * @example
 * ```ts
 * import { createLiveSessions } from "@vd/live";
 *
 * const sessions = await createLiveSessions([{ seed: 1 }, { seed: 2 }, { seed: 3 }], { devices: [0, 1] });
 * await Promise.all(
 *   sessions.map(async (session) => {
 *     for await (const { index } of session) if (index === 99) break;
 *   }),
 * );
 * ```
 */
export async function createLiveSessions(
  sessions: readonly SharedSessionOptions[],
  options: LiveSessionsOptions,
): Promise<LiveSession[]> {
  if (!Array.isArray(sessions))
    throw new VdError({
      code: "attr",
      where: "sessions",
      expected: "a list of sessions' options",
      got: shown(sessions),
    });
  const { devices, threads } = options ?? {};
  if (!isDeviceList(devices)) {
    const expected = "a list of devices of one kind, such as cuda:0 and cuda:1";
    throw new VdError({ code: "attr", where: "devices", expected, got: shown(devices) });
  }
  const named = openDevices(devices.map(deviceLabel), { threads });
  const opening = await Promise.allSettled(
    sessions.map(async (options, i) => {
      const on = named[i % named.length]!;
      try {
        return await createSessionWithClock(options, systemClock, on);
      } catch (error) {
        throw labelled(error, on);
      }
    }),
  );
  const failed = opening.find((each) => each.status === "rejected");
  const opened = opening.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (!failed) return opened;
  await Promise.allSettled(opened.map((session) => session.close()));
  throw failed.reason;
}
