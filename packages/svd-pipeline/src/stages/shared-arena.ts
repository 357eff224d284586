import type { Device, DeviceBuffer } from "@vd/kernels-native";
import type { LoadedStage, StageMemory } from "./stage";

/** Working memory of stages that run one after the other but are loaded at the same time. It is there while any of them is. */
export class SharedArena {
  private block: Promise<DeviceBuffer> | undefined;
  private numUsers = 0;

  /** bytes: the most that any of the stages needs. memory: what they count in. */
  constructor(
    private readonly device: Device,
    private readonly bytes: number,
    private readonly memory: StageMemory,
  ) {}

  /**
   * Loads a stage that works in here until it is released.
   *
   * @throws VdError `memory`, and what `load` throws
   */
  async use(load: (arena: DeviceBuffer) => Promise<LoadedStage>): Promise<LoadedStage> {
    if (this.numUsers++ === 0) {
      this.memory.ownBytes += this.bytes;
      this.block = this.device.allocate(this.bytes, { cleared: false });
    }
    try {
      const { plan, release } = await load(await this.block!);
      const { stateBytes } = plan.memory;
      this.memory.ownBytes += stateBytes;
      return {
        plan,
        release: async () => {
          await release();
          this.memory.ownBytes -= stateBytes;
          await this.leave();
        },
      };
    } catch (error) {
      await this.leave();
      throw error;
    }
  }

  private async leave(): Promise<void> {
    if (--this.numUsers > 0) return;
    const { block } = this;
    this.block = undefined;
    this.memory.ownBytes -= this.bytes;
    // Whoever could not allocate it has said so.
    await (await block?.catch(() => undefined))?.free();
  }
}
