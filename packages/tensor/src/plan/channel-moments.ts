import { type DType, OPS } from "@vd/kernels-native";
import { type Graph, makeStorage, packedTensor } from "../graph";
import { type Pausable, pausable } from "../pausable";
import { checkCall, type Row } from "../row";
import { type CallOptions, packedBytes, type Storage, type Tensor } from "../tensor";

/** Frames of fewer bytes come from a GPU's cache again, and their convolutions have kernels that do not find moments. Decided by the frame
 *  alone, so that a clip has the same bits in any chunks. */
const LEAST_FRAME_BYTES = 5 << 19;

/** Kernels find moments of this many pixels at a time: frames of other sizes would be read again for them. */
const PIXELS_AT_ONCE = 128;

const GPU_TYPES: readonly DType[] = ["f16", "bf16"];

/** Rows that can leave the moments of their results. */
const CONVOLUTIONS: readonly Row["op"][] = ["conv", "conv_q8", "group_norm_conv", "group_norm_conv_q8"];

/** Rows whose x is normalised by statistics that they find themselves. */
const NORMS: readonly Row["op"][] = ["group_norm", "group_norm_q8", "group_norm_stats"];

const inputOf = (row: Row, name: string): Tensor | undefined =>
  row.inputs[Object.keys(OPS[row.op].inputs).indexOf(name)];

function attrOf(row: Row, name: string): number {
  // The attributes of norms are single numbers.
  return row.attrs[Object.keys(OPS[row.op].attrs).indexOf(name)]!;
}

/** True for the result of a convolution whose kernels find the moments of its channels on the way. */
function isMeasurable(y: Tensor): boolean {
  const [, , height, width, channels] = y.dims as [number, number, number, number, number];
  const isLarge = packedBytes([height, width, channels], y.dtype) >= LEAST_FRAME_BYTES;
  return GPU_TYPES.includes(y.dtype) && isLarge && (height * width) % PIXELS_AT_ONCE === 0;
}

/** How frames lie in a block of memory. */
interface Frames {
  /** From one frame to the next. */
  bytes: number;
  channels: number;
  /** The first frame's place in the block, counted in frames. */
  first: number;
  count: number;
}

/** Frames of a map that begin at whole multiples of their size; undefined for others. */
function framesOf({ dims, dtype, pitch, byteOffset }: Tensor): Frames | undefined {
  const [batch, numFrames, height, width, channels] = dims as [number, number, number, number, number];
  const bytes = packedBytes([height, width, pitch], dtype);
  if (dims.length !== 5 || byteOffset % bytes !== 0) return undefined;
  return { bytes, channels, first: byteOffset / bytes, count: batch * numFrames };
}

/** A block of memory with frames that convolutions wrote last. */
interface MeasurableBlock {
  frames: Frames;
  /** The convolution that wrote a frame, by the frame's place. */
  producers: Map<number, Row>;
  /** Of all frames that the block can hold. */
  moments: Storage;
}

/** Which convolutions wrote the frames of maps, and where their moments are. */
class MeasurableFrames {
  private readonly blocks = new Map<number, MeasurableBlock>();

  /** Takes note of what a row writes. */
  note(row: Row): void {
    const frames =
      CONVOLUTIONS.includes(row.op) && isMeasurable(row.outputs[0]!) ? framesOf(row.outputs[0]!) : undefined;
    for (const written of row.outputs) if (written) this.written(written, frames);
    if (!frames) return;
    const block = this.blockOf(row.outputs[0]!, frames);
    for (let i = 0; i < frames.count; i++) block?.producers.set(frames.first + i, row);
  }

  /** The moments of a map all frames of which convolutions wrote last, which are asked for them; undefined for any other. */
  momentsOf(x: Tensor): Tensor | undefined {
    const [frames, block] = [framesOf(x), this.blocks.get(x.storage.id)];
    if (!frames || !block || !isAlike(frames, block.frames)) return undefined;
    const rows = Array.from({ length: frames.count }, (_, i) => block.producers.get(frames.first + i));
    if (rows.some((row) => row === undefined)) return undefined;
    for (const row of new Set(rows)) askFor(row!, momentsIn(block, row!.outputs[0]!));
    return momentsIn(block, x);
  }

  /** Forgets a block in which something else was written than frames like those before. */
  private written(tensor: Tensor, frames: Frames | undefined): void {
    const block = this.blocks.get(tensor.storage.id);
    if (block && !(frames && isAlike(frames, block.frames))) this.blocks.delete(tensor.storage.id);
  }

  private blockOf({ storage }: Tensor, frames: Frames): MeasurableBlock | undefined {
    if (storage.kind !== "arena") return undefined;
    const known = this.blocks.get(storage.id);
    if (known) return known;
    const count = Math.floor(storage.bytes / frames.bytes);
    const moments = makeStorage("arena", packedBytes([count, frames.channels, 2], "f32"), "arena");
    const made = { frames, producers: new Map<number, Row>(), moments };
    this.blocks.set(storage.id, made);
    return made;
  }
}

const isAlike = (a: Frames, b: Frames): boolean => a.bytes === b.bytes && a.channels === b.channels;

/** The place of the moments of a map of a block's frames. */
function momentsIn({ moments }: MeasurableBlock, map: Tensor): Tensor {
  const { first, channels } = framesOf(map)!;
  const dims = [map.dims[0]!, map.dims[1]!, channels, 2];
  return packedTensor(moments, dims, "f32", packedBytes([first, channels, 2], "f32"));
}

/** Has a convolution put the moments of its result there. */
function askFor(convolution: Row, place: Tensor): void {
  const at = Object.keys(OPS[convolution.op].outputs).indexOf("moments");
  (convolution.outputs as (Tensor | undefined)[])[at] ??= place;
}

/** The row that makes a norm's statistics of moments, with the norm's own place for them if it has one. */
function statisticsRow(row: Row, moments: Tensor, moments2: Tensor | undefined): Row {
  const name = row.op === "group_norm_stats" ? row.name : `${row.name}.stats`;
  const [x, x2] = [inputOf(row, "x")!, inputOf(row, "x2")];
  const [groups, eps, joinFrames] = [attrOf(row, "groups"), attrOf(row, "eps"), attrOf(row, "joinFrames") === 1];
  const options = { name, x, x2, moments, moments2, groups, eps, joinFrames };
  const call = checkCall("group_norm_stats", name, options as CallOptions & Record<string, unknown>);
  const { dims, dtype } = call.outputs[0]!;
  const place = row.op === "group_norm_stats" ? row.outputs[0]! : undefined;
  const stats = place ?? packedTensor(makeStorage("arena", packedBytes(dims, dtype), "arena"), dims, dtype);
  return { op: "group_norm_stats", name, attrs: call.attrs, inputs: call.inputs, outputs: [stats], flops: call.flops };
}

/** The rows in place of a norm whose input's moments convolutions can find, or undefined. */
function measuredNorm(row: Row, written: MeasurableFrames): Row[] | undefined {
  if (inputOf(row, "stats") || inputOf(row, "moments")) return undefined;
  const x2 = inputOf(row, "x2");
  const moments = written.momentsOf(inputOf(row, "x")!);
  const moments2 = moments && x2 && written.momentsOf(x2);
  if (!moments || (x2 && !moments2)) return undefined;
  const statistics = statisticsRow(row, moments, moments2);
  if (row.op === "group_norm_stats") return [statistics];
  const inputs = [...row.inputs];
  inputs[Object.keys(OPS[row.op].inputs).indexOf("stats")] = statistics.outputs[0];
  return [statistics, { ...row, inputs }];
}

/** Rows between two pauses. */
const PIECE = 64;

/**
 * Lets convolutions find the moments of their results' channels on the way where a norm of channel groups follows, which then reads its
 * input once instead of twice. For 16-bit maps that no cache holds; all other rows stay as they are. Pauses after some rows.
 */
export const measureInConvolutions = pausable(function* (graph: Graph): Pausable<void> {
  const written = new MeasurableFrames();
  const rows: Row[] = [];
  for (const [i, row] of graph.rows.entries()) {
    const made = NORMS.includes(row.op) ? measuredNorm(row, written) : undefined;
    for (const each of made ?? [row]) {
      rows.push(each);
      written.note(each);
    }
    if (i % PIECE === PIECE - 1) yield;
  }
  graph.rows.splice(0, graph.rows.length, ...rows);
});
