import type { Binding, Device, DeviceBuffer } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Place } from "./encode";
import type { OwnBlock, Places } from "./places";
import { sharesArenas, spareArenas } from "./spare-arenas";

/** The buffers of one loaded plan, in which all its storages have places; those that are the plan's own come by {@link allocate}. */
export class Placement {
  private readonly blocks: (Binding | OwnBlock)[];
  private own: DeviceBuffer[] = [];
  /** The arena among them, where {@link sharesArenas}. */
  private ownArena: DeviceBuffer | undefined;
  private readonly mirrors: { buffer: DeviceBuffer; byteOffset: number; bytes: number; copy: DeviceBuffer }[] = [];

  /** arena: where the arena lies, if it is not the plan's own. */
  constructor(
    private readonly places: Places,
    private readonly device: Device,
    arena?: DeviceBuffer | undefined,
  ) {
    this.blocks = [...places.blocks];
    if (arena && places.arenaIndex !== undefined) this.blocks[places.arenaIndex] = { buffer: arena, constant: false };
  }

  placeOf(tensor: Tensor): Place {
    return this.places.placeOf(tensor);
  }

  bufferOf(tensor: Tensor): DeviceBuffer {
    return this.bindings[this.placeOf(tensor).bufferIndex]!.buffer;
  }

  get bindings(): readonly Binding[] {
    return this.blocks as Binding[];
  }

  /**
   * Allocates what has no block yet; on failure nothing stays allocated.
   *
   * @throws VdError `memory`
   */
  async allocate(): Promise<void> {
    try {
      for (const [i, block] of this.blocks.entries()) {
        if ("buffer" in block) continue;
        const buffer = await this.allocateBlock(i, block);
        this.own.push(buffer);
        this.blocks[i] = { buffer, constant: false };
        if (block.host) this.mirrors.push({ ...block.host, bytes: block.bytes, copy: buffer });
      }
    } catch (error) {
      this.freeSync();
      throw error;
    }
  }

  private async allocateBlock(index: number, { bytes }: OwnBlock): Promise<DeviceBuffer> {
    const isArena = index === this.places.arenaIndex;
    const isShared = isArena && sharesArenas(this.device);
    // Rows write an arena's tensors before others read them.
    const options = { cleared: !isArena };
    const buffer = (isShared ? spareArenas.take(bytes) : undefined) ?? (await this.device.allocate(bytes, options));
    if (isShared) this.ownArena = buffer;
    return buffer;
  }

  /** Brings the contents of existing host memory to the device. */
  copyIn(): void {
    for (const { buffer, byteOffset, bytes, copy } of this.mirrors) copy.copyFromSync(buffer, byteOffset, 0, bytes);
  }

  /** Brings what rows wrote back to it. */
  copyOut(): void {
    for (const { buffer, byteOffset, bytes, copy } of this.mirrors) buffer.copyFromSync(copy, 0, byteOffset, bytes);
  }

  /** Frees the blocks that this plan allocated. */
  freeSync(): void {
    for (const buffer of this.own) buffer.freeSync();
    this.own = [];
  }

  /** Does what {@link freeSync} does, off the event loop. isIdle: no run of the plan is under way, and its arena can be another one's. */
  async free({ isIdle }: { isIdle: boolean }): Promise<void> {
    const { own, ownArena } = this;
    this.own = [];
    await Promise.all(own.map((buffer) => (isIdle && buffer === ownArena ? spareArenas.give(buffer) : buffer.free())));
  }
}
