import type { Binding, Device, DeviceBuffer } from "@vd/kernels-native";
import type { Storage, Tensor } from "../tensor";
import type { Place } from "./encode";
import type { GraphLayout } from "./layout";
import { sharesArenas, spareArenas } from "./spare-arenas";

/** A block that a plan allocates. */
interface OwnBlock {
  bytes: number;
  /** Existing host memory that it stands for on a device with memory of its own. */
  host?: { buffer: DeviceBuffer; byteOffset: number };
}

/** Buffers and places of all storages of one loaded plan. Places come first; blocks of the plan's own follow by
 *  {@link allocate}. */
export class Placement {
  private readonly slots: (Binding | OwnBlock)[] = [];
  private own: DeviceBuffer[] = [];
  /** The arena among them, where {@link sharesArenas}. */
  private ownArena: DeviceBuffer | undefined;
  private readonly mirrors: { buffer: DeviceBuffer; byteOffset: number; bytes: number; copy: DeviceBuffer }[] = [];
  private arenaIndex: number | undefined;
  private readonly places = new Map<number, Place>();

  constructor(
    private readonly layout: GraphLayout,
    private readonly device: Device,
    /** Where the arena lies, if it is not the plan's own. */
    private readonly arena?: DeviceBuffer | undefined,
  ) {}

  placeOf(tensor: Tensor): Place {
    const { storage } = tensor;
    let place = this.places.get(storage.id);
    if (!place) {
      place = this.find(storage);
      this.places.set(storage.id, place);
    }
    return place;
  }

  bufferOf(tensor: Tensor): DeviceBuffer {
    return this.bindings[this.placeOf(tensor).bufferIndex]!.buffer;
  }

  get bindings(): readonly Binding[] {
    return this.slots as Binding[];
  }

  /**
   * Allocates what has no block yet; on failure nothing stays allocated.
   *
   * @throws VdError `memory`
   */
  async allocate(): Promise<void> {
    try {
      for (const [i, slot] of this.slots.entries()) {
        if ("buffer" in slot) continue;
        const buffer = await this.allocateSlot(i, slot);
        this.own.push(buffer);
        this.slots[i] = { buffer, constant: false };
        if (slot.host) this.mirrors.push({ ...slot.host, bytes: slot.bytes, copy: buffer });
      }
    } catch (error) {
      this.freeSync();
      throw error;
    }
  }

  private async allocateSlot(index: number, { bytes }: OwnBlock): Promise<DeviceBuffer> {
    const isArena = index === this.arenaIndex;
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

  private find(storage: Storage): Place {
    const constant = storage.kind === "weights";
    const { place, bytes } = storage;
    if (place?.buffer.onHost && !constant && this.device.kind !== "cpu")
      return { bufferIndex: this.add({ bytes, host: place }), byteOffset: 0 };
    if (storage.place)
      return { bufferIndex: this.bind(storage.place.buffer, constant), byteOffset: storage.place.byteOffset };
    if (storage.kind !== "arena") return { bufferIndex: this.add({ bytes: storage.bytes }), byteOffset: 0 };
    const { arenaBytes } = this.layout.memory;
    this.arenaIndex ??= this.add(this.arena ? { buffer: this.arena, constant: false } : { bytes: arenaBytes });
    return { bufferIndex: this.arenaIndex, byteOffset: this.layout.byteOffsets.get(storage.id)! };
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

  private bind(buffer: DeviceBuffer, constant: boolean): number {
    const known = this.slots.findIndex(
      (slot) => "buffer" in slot && slot.buffer === buffer && slot.constant === constant,
    );
    return known >= 0 ? known : this.add({ buffer, constant });
  }

  private add(slot: Binding | OwnBlock): number {
    this.slots.push(slot);
    return this.slots.length - 1;
  }
}
