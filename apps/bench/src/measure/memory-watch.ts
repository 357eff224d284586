import type { Device } from "@vd/kernels-native";

const POLL_MS = 10;

/** Watches how much of a GPU's memory is taken beyond what was taken at the start. */
export class MemoryWatch {
  private lowestFreeBytes: number;
  private timer: NodeJS.Timeout | undefined;

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
    const poll = () => {
      this.timer = setTimeout(() => this.look().then(poll, () => undefined), POLL_MS);
    };
    if (this.device.kind === "cuda") poll();
    try {
      return await body();
    } finally {
      clearTimeout(this.timer);
    }
  }

  /** The most that was seen in use beyond the start; undefined on the CPU, which has no memory of its own. */
  get peakBytes(): number | undefined {
    return this.device.kind === "cuda" ? this.freeAtStartBytes - this.lowestFreeBytes : undefined;
  }
}
