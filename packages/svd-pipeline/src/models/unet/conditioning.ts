import { channelRange, type Graph, type Module, type Pausable, type Tensor } from "@vd/tensor";

/** A range of channels of a tensor that many blocks share. */
export interface Slot {
  begin: number;
  end: number;
}

/** What a generation computes once and every denoising step uses: one tensor for all blocks, each with its slot. */
export class SharedChannels<Source> {
  private readonly parts: { slot: Slot; make: Module<[source: Source, out: Tensor]> }[] = [];
  /** Channels of all slots. */
  width = 0;

  /** Reserves `channels` and says how to fill them. */
  reserve(channels: number, make: Module<[source: Source, out: Tensor]>): Slot {
    const slot = { begin: this.width, end: this.width + channels };
    this.width = slot.end;
    this.parts.push({ slot, make });
    return slot;
  }

  /** Fills all slots of `all`, whose last dimension is `width`; pauses after each. */
  *fill(g: Graph, source: Source, all: Tensor): Pausable<void> {
    for (const { slot, make } of this.parts) {
      make(g, source, channelRange(all, slot.begin, slot.end));
      yield;
    }
  }
}

/** What the picture's embedding means to a block: with one token a vector per clip, else the tokens themselves. */
export type Cross = { kind: "folded"; vectors: Tensor } | { kind: "tokens"; context: Tensor };
