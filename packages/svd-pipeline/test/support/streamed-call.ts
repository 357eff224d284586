import { packedBytes, type Row } from "@vd/tensor";

/** How a call's weights reach the device. */
export interface Link {
  /** Bytes of the slots, of which there are eight at most. */
  streamBytes: number;
  bytesPerSecond: number;
}

interface Segment {
  bytes: number;
  seconds: number;
}

const MOST_SLOTS = 8;

/** The weights of a row, by what tells them apart. */
function weightsOf({ inputs }: Row): Map<string, number> {
  const weights = new Map<string, number>();
  for (const t of inputs)
    if (t?.storage.kind === "weights") weights.set(`${t.storage.id} ${t.byteOffset}`, packedBytes(t.dims, "f16"));
  return weights;
}

const sumOf = (weights: Iterable<number>): number => [...weights].reduce((sum, bytes) => sum + bytes, 0);

/** Rows in segments whose weights fit into a slot, as native/cuda/weight_segments.cc cuts them. */
function cut(rows: readonly Row[], secondsOf: (row: Row) => number, slotBytes: number): Segment[] {
  const segments: Segment[] = [];
  let known = new Map<string, number>();
  for (const row of rows) {
    const both = new Map([...known, ...weightsOf(row)]);
    if (segments.length === 0 || sumOf(both.values()) > slotBytes) {
      known = weightsOf(row);
      segments.push({ bytes: 0, seconds: 0 });
    } else known = both;
    const segment = segments.at(-1)!;
    segment.bytes = sumOf(known.values());
    segment.seconds += secondsOf(row);
  }
  return segments;
}

/** Returns by how much a call takes longer whose weights are streamed, if its rows take `seconds` in all, by their floating point operations. */
export function streamedRatio(rows: readonly Row[], seconds: number, { streamBytes, bytesPerSecond }: Link): number {
  const flops = rows.reduce((sum, row) => sum + row.flops, 0);
  const largest = Math.max(...rows.map((row) => sumOf(weightsOf(row).values())));
  const slotBytes = Math.max(largest, streamBytes / MOST_SLOTS);
  const numSlots = Math.max(2, Math.floor(streamBytes / slotBytes));
  const segments = cut(rows, (row) => (seconds * row.flops) / flops, slotBytes);
  let copied = 0;
  const ends: number[] = [];
  for (const [i, segment] of segments.entries()) {
    // A slot's next weights come once the rows of its last ones are done.
    copied = Math.max(copied, ends[i - numSlots] ?? 0) + segment.bytes / bytesPerSecond;
    ends.push(Math.max(copied, ends[i - 1] ?? 0) + segment.seconds);
  }
  return ends.at(-1)! / seconds;
}
