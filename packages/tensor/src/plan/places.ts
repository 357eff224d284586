import type { Binding, DeviceBuffer } from "@vd/kernels-native";
import type { Storage, Tensor } from "../tensor";
import type { Place } from "./encode";
import type { GraphLayout } from "./layout";

/** A block that a plan allocates. */
export interface OwnBlock {
  bytes: number;
  /** Existing host memory that it stands for on a device with memory of its own. */
  host?: { buffer: DeviceBuffer; byteOffset: number };
}

/** Where a storage lay that exists before a plan is loaded. */
interface KnownPlace {
  storage: Storage;
  buffer: DeviceBuffer | undefined;
  byteOffset: number;
}

/** Where the storages of a layout lie: each in one of a list of blocks, some of which exist already. The same for every plan of the layout, as
 *  long as those that exist stay where they are. */
export class Places {
  /** In the order of their numbers. */
  readonly blocks: (Binding | OwnBlock)[] = [];
  /** The number of the arena; undefined for a layout without one. */
  arenaIndex: number | undefined;
  private readonly known: KnownPlace[] = [];
  private readonly places = new Map<number, Place>();

  /** mirrorsHost: for a device with memory of its own, on which blocks stand for what lies in the machine's. */
  constructor(
    private readonly layout: GraphLayout,
    private readonly mirrorsHost: boolean,
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

  /** True while what existed before still lies where it did. */
  areCurrent(): boolean {
    return this.known.every(
      ({ storage: { place }, buffer, byteOffset }) =>
        place?.buffer === buffer && (place === undefined || place.byteOffset === byteOffset),
    );
  }

  private find(storage: Storage): Place {
    const { place, bytes, kind } = storage;
    this.known.push({ storage, buffer: place?.buffer, byteOffset: place?.byteOffset ?? 0 });
    const constant = kind === "weights";
    if (place?.buffer.onHost && !constant && this.mirrorsHost)
      return { bufferIndex: this.add({ bytes, host: place }), byteOffset: 0 };
    if (place) return { bufferIndex: this.bind(place.buffer, constant), byteOffset: place.byteOffset };
    if (kind !== "arena") return { bufferIndex: this.add({ bytes }), byteOffset: 0 };
    this.arenaIndex ??= this.add({ bytes: this.layout.memory.arenaBytes });
    return { bufferIndex: this.arenaIndex, byteOffset: this.layout.byteOffsets.get(storage.id)! };
  }

  private bind(buffer: DeviceBuffer, constant: boolean): number {
    const known = this.blocks.findIndex(
      (block) => "buffer" in block && block.buffer === buffer && block.constant === constant,
    );
    return known >= 0 ? known : this.add({ buffer, constant });
  }

  private add(block: Binding | OwnBlock): number {
    this.blocks.push(block);
    return this.blocks.length - 1;
  }
}
