import { freemem, totalmem } from "node:os";
import { type Device, FUNCTION, requireFields, TEXT, VdError } from "@vd/kernels-native";

/** How much of a GPU work may take: as much as keeps it fast, as fits a small card, or as little as is known to work. */
export type MemoryUse = "full" | "low" | "lowest";

/** Returns the bytes of memory that this process may have at all. */
export function availableBytes(): number {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Returns the bytes of the machine's memory that this process could still take. */
export function freeHostBytes(): number {
  return Math.min(process.availableMemory?.() ?? freemem(), availableBytes());
}

/** What work may take of a GPU. */
const LIMIT_BYTES: Readonly<Record<MemoryUse, number>> = {
  full: 10 * 2 ** 30,
  low: 6 * 2 ** 30,
  // Beside the driver's context; a card of 4 GiB says itself how much less it has.
  lowest: 3.9 * 2 ** 30,
};
/** Checks how much memory is to be taken. @throws VdError `attr` */
export function checkMemoryUse(memory: unknown): void {
  if (typeof memory === "string" && Object.hasOwn(LIMIT_BYTES, memory)) return;
  const expected = `one of ${Object.keys(LIMIT_BYTES).join(", ")}`;
  throw new VdError({ code: "attr", where: "memory", expected, got: String(memory) });
}

/** Part of the memory that is left for others: the driver's context, working memory of kernels. */
const SPARE = 0.03;
/** On the CPU, which shares its memory with everything else. */
const CPU_SHARE = 0.7;

/** Returns the most bytes of a GPU's memory that work takes, its weights included. @throws VdError `attr` for another word */
export function mostBytes(memory: MemoryUse): number {
  checkMemoryUse(memory);
  return (1 - SPARE) * LIMIT_BYTES[memory];
}

/** Part of the machine's free memory that is left for others. */
const HOST_SPARE = 0.1;

/** Returns the bytes that work which begins now may take: {@link usableBytes}, and on the CPU no more than the machine has left,
 *  since a process that takes more is ended by the system without an error. */
export async function spareBytes(device: Device, memory: MemoryUse): Promise<number> {
  const most = await usableBytes(device, memory);
  return device.kind === "cpu" ? Math.min(most, (1 - HOST_SPARE) * freeHostBytes()) : most;
}

/** How long an answer of a driver counts. One generation is planned by many questions within a few ms, and each takes half a ms to answer. */
const ANSWER_MS = 5;
const answers = new WeakMap<Device, { bytes: Promise<number>; askedMs: number }>();

/** Returns the bytes of a GPU's memory that this process may have, with those that it has. */
function ownBytes(device: Device): Promise<number> {
  const known = answers.get(device);
  if (known && performance.now() - known.askedMs < ANSWER_MS) return known.bytes;
  const bytes = device.memory().then(({ freeBytes, residentBytes }) => freeBytes + residentBytes);
  answers.set(device, { bytes, askedMs: performance.now() });
  return bytes;
}

/** Returns the bytes of the device's memory that work may take, its weights included. @throws VdError `attr` for what is no device */
export async function usableBytes(device: Device, memory: MemoryUse): Promise<number> {
  requireFields("usableBytes device", device, { kind: TEXT, memory: FUNCTION });
  if (device.kind === "cpu") return CPU_SHARE * availableBytes();
  return Math.min(mostBytes(memory), (1 - SPARE) * (await ownBytes(device)));
}
