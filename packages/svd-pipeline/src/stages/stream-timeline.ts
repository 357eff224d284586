import { packedBytes, type Row } from "@vd/tensor";

/** A link from the machine's memory to a device, and how fast the device computes. */
export interface StreamRates {
  bytesPerSecond: number;
  flopsPerSecond: number;
}

/**
 * What streaming is chosen for: a PCIe 4 link of 16 lanes, which moves 25 GB/s of the 31.5 that it could, and a device as fast as an H200, whose
 * call of SVD-XT's denoiser, 25 frames of 1024x576, takes 0.30 s (`reports/gpu/lowest-h200.json`) for 154 TFLOP. Slower devices wait less.
 */
export const STREAM_RATES: StreamRates = { bytesPerSecond: 25e9, flopsPerSecond: 154e12 / 0.3 };

/** Rows one after the other whose weights lie in a slot together. */
export interface StreamSegment {
  bytes: number;
  /** What its rows compute for. */
  seconds: number;
}

/** What takes weights in turn, of which there are two at least and eight at most. */
interface Slots {
  count: number;
  bytes: number;
}

const MOST_SLOTS = 8;

/** The weights of a row, by what tells them apart, in bytes as a GPU has them. */
function weightsOf({ inputs }: Row): Map<string, number> {
  const weights = new Map<string, number>();
  for (const t of inputs)
    if (t?.storage.kind === "weights") weights.set(`${t.storage.id} ${t.byteOffset}`, packedBytes(t.dims, "f16"));
  return weights;
}

const sumOf = (weights: Iterable<number>): number => [...weights].reduce((sum, bytes) => sum + bytes, 0);

function slotsOf(rows: readonly Row[], streamBytes: number): Slots {
  const largest = Math.max(...rows.map((row) => sumOf(weightsOf(row).values())));
  const bytes = Math.max(largest, streamBytes / MOST_SLOTS);
  return { bytes, count: Math.max(2, Math.floor(streamBytes / bytes)) };
}

/** Rows in segments whose weights fit into a slot, as native/cuda/weight_segments.cc cuts them. */
function cutSegments(rows: readonly Row[], { bytes }: Slots, flopsPerSecond: number): StreamSegment[] {
  const segments: StreamSegment[] = [];
  let known = new Map<string, number>();
  for (const row of rows) {
    const both = new Map([...known, ...weightsOf(row)]);
    if (segments.length === 0 || sumOf(both.values()) > bytes) {
      known = weightsOf(row);
      segments.push({ bytes: 0, seconds: 0 });
    } else known = both;
    const segment = segments.at(-1)!;
    segment.bytes = sumOf(known.values());
    segment.seconds += row.flops / flopsPerSecond;
  }
  return segments;
}

/** When the segments of a call are copied and computed: a slot's next weights come once the rows of its last ones are done, and rows
 *  wait for their weights. Returns the seconds until the last row is done. */
export function timelineSeconds(segments: readonly StreamSegment[], numSlots: number, bytesPerSecond: number): number {
  let copied = 0;
  const ends: number[] = [];
  for (const [i, { bytes, seconds }] of segments.entries()) {
    copied = Math.max(copied, ends[i - numSlots] ?? 0) + bytes / bytesPerSecond;
    ends.push(Math.max(copied, ends[i - 1] ?? 0) + seconds);
  }
  return ends.at(-1) ?? 0;
}

/** Returns the seconds of a call whose weights pass through `streamBytes` of the device's memory. */
export function streamedSeconds(rows: readonly Row[], streamBytes: number, rates: StreamRates = STREAM_RATES): number {
  const slots = slotsOf(rows, streamBytes);
  return timelineSeconds(cutSegments(rows, slots, rates.flopsPerSecond), slots.count, rates.bytesPerSecond);
}

/** Returns the one of `sizes` through which a call's weights pass in the least time; of equal ones the first. */
export function fastestStream(
  rows: readonly Row[],
  sizes: readonly number[],
  rates: StreamRates = STREAM_RATES,
): number {
  const seconds = sizes.map((size) => streamedSeconds(rows, size, rates));
  return sizes[seconds.indexOf(Math.min(...seconds))]!;
}
