import { COUNT, requireFields, wholeFrom } from "@vd/kernels-native";
import type { Graph } from "../graph";
import type { Pausable } from "../pausable";
import { channelRange, requireTensor, reshape, type Tensor } from "../tensor";
import type { Module } from "./module";

/** A range of channels of a tensor that many blocks share. */
export interface Slot {
  begin: number;
  end: number;
}

/** What is computed once and used by many calls: one tensor for all blocks, each with its slot. */
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

/** A slot of [B,F,1,width] as a bias per clip and frame: [B,F,C]. */
export function slotBias(all: Tensor, slot: Slot): Tensor {
  requireTensor("slotBias", all);
  requireFields("slotBias] [slot", slot, { begin: wholeFrom(0), end: COUNT });
  const { begin, end } = slot;
  const [b, f] = all.dims as [number, number];
  return reshape(channelRange(all, begin, end), [b, f, end - begin]);
}
