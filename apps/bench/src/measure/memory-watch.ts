import { setTimeout } from "node:timers/promises";
import type { Device } from "@vd/kernels-native";

const POLL_MS = 10;

/** Watches how much of a GPU's memory is taken beyond what was taken at the start. */
export class MemoryWatch {
  private lowestFreeBytes: number;

  private constructor(
    private readonly device: Device,
    private readonly freeAtStartBytes: number,
  ) {
    this.lowestFreeBytes = freeAtStartBytes;
  }

  /** Begins with what is free now. */
  static async start(device: Device): Promise<MemoryWatch> {
    await device.prepare();
    return new MemoryWatch(device, (await device.memory()).freeBytes);
  }

  /** Looks now. */
  async look(): Promise<void> {
    this.lowestFreeBytes = Math.min(this.lowestFreeBytes, (await this.device.memory()).freeBytes);
  }

  /** Looks every few milliseconds while `body` runs. */
  async during<T>(body: () => Promise<T>): Promise<T> {
    if (this.device.kind !== "cuda") return body();
    const ended = new AbortController();
    const looking = this.lookUntil(ended.signal);
    try {
      return await body();
    } finally {
      ended.abort();
      await looking;
    }
  }

  /** Looks until the signal aborts or the device no longer answers. */
  private async lookUntil(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await setTimeout(POLL_MS, undefined, { signal });
        await this.look();
      }
    } catch {
      // Either the end, or the measured work fails at the same device and says why.
    }
  }

  /** The most that was seen in use beyond the start; undefined on the CPU, which has no memory of its own. */
  get peakBytes(): number | undefined {
    return this.device.kind === "cuda" ? this.freeAtStartBytes - this.lowestFreeBytes : undefined;
  }
}
