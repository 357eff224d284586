import { Device, type DeviceBuffer } from "@vd/kernels-native";

/** What spare arenas may take. */
export interface SpareArenasOptions {
  /** Smaller ones are made anew in no time. */
  leastBytes: number;
  /** Of all together. */
  mostBytes: number;
  /** How long they wait for a plan. */
  keepMs: number;
}

/**
 * Working memory that plans on the CPU have given back, for the next plans of the same sizes, such as the stages of the next generation. From
 * the system it comes page by page, zeroed, in as much as a tenth of the time that is worked in it. What nobody takes for a moment is freed.
 */
export class SpareArenas {
  private readonly spare: DeviceBuffer[] = [];
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: SpareArenasOptions) {}

  /** An arena of exactly so many bytes with any contents, which is then the caller's; undefined where there is none. */
  take(bytes: number): DeviceBuffer | undefined {
    const at = this.spare.findIndex((arena) => arena.bytes === bytes);
    if (at < 0) return undefined;
    this.bytes -= bytes;
    return this.spare.splice(at, 1)[0];
  }

  /** Takes an arena that nothing uses any more. */
  async give(arena: DeviceBuffer): Promise<void> {
    const { leastBytes, mostBytes, keepMs } = this.options;
    if (arena.bytes < leastBytes || arena.bytes > mostBytes) return arena.free();
    this.spare.push(arena);
    this.bytes += arena.bytes;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.free(0), keepMs);
    // A program that is done ends.
    this.timer.unref();
    await this.free(mostBytes);
  }

  /** Frees the oldest ones until those that are left take at most `most` bytes. */
  private async free(most: number): Promise<void> {
    while (this.bytes > most) {
      const oldest = this.spare.shift()!;
      this.bytes -= oldest.bytes;
      await oldest.free();
    }
  }
}

/** How devices allocate by themselves. */
const ALLOCATE = Device.prototype.allocate;

/** True if plans on a device work in each other's arenas: on the CPU, unless somebody allocates its memory in a way of their own, such as counting
 *  or refusing it. */
export const sharesArenas = ({ kind, allocate }: Device): boolean => kind === "cpu" && allocate === ALLOCATE;

/** Those of this process. They wait longer than a small model denoises: larger ones work so long in their arenas that new pages do not count. */
export const spareArenas = new SpareArenas({ leastBytes: 2 ** 22, mostBytes: 2 ** 28, keepMs: 10_000 });
