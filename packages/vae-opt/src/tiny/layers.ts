import { allocateBuffer, countOf, VdError } from "@vd/kernels-native";
import { decodeStored, elementBytes, makeStorage, packedTensor, type Tensor, type Weights } from "@vd/tensor";

/** One layer of a tiny autoencoder's half, as names and shapes of its weights tell. */
export type TinyLayer =
  | { kind: "conv"; index: number; cin: number; cout: number }
  /** A convolution without bias: behind nearest-2× upsampling in a decoder, with a stride of two in an encoder. */
  | { kind: "resample"; index: number; cin: number; cout: number }
  /** Three convolutions with ReLU and a skip; `memory`: the first one also sees the frame before. */
  | { kind: "block"; index: number; cin: number; cout: number; memory: boolean };

/** Shapes by name, of one half. */
export type HalfShapes = ReadonlyMap<string, readonly number[]>;

/** More layers than any such model has. */
const MOST_LAYERS = 128;

const fail = (where: string, expected: string, got: string): never => {
  throw new VdError({
    code: "weights",
    where,
    expected,
    got,
    hint: "Files of the layouts of TAESD, TAESDV and diffusers' AutoencoderTiny can be read; others of the family differ.",
  });
};

function sizesOf(where: string, shapes: HalfShapes, name: string): [cout: number, cin: number] {
  const shape = shapes.get(name);
  if (shape?.length === 4) return [shape[0]!, shape[1]!];
  return fail(`${where}] [${name}`, "a weight of four dimensions", shape ? `[${shape}]` : "none");
}

/**
 * Reads the layers of a half off its names: numbers of a sequence, of which layers without weights are left out.
 *
 * @param where the half, for messages
 * @throws VdError `weights` for another layout
 */
export function tinyLayers(where: string, shapes: HalfShapes): TinyLayer[] {
  const indices = [...new Set([...shapes.keys()].map((name) => Number(/^(\d+)\./.exec(name)?.[1] ?? Number.NaN)))];
  if (indices.length === 0 || indices.length > MOST_LAYERS || indices.some(Number.isNaN))
    fail(where, "weights named like 3.conv.0.weight", indices.length === 0 ? "none" : "other names");
  let channels = 0;
  const layers = indices
    .sort((a, b) => a - b)
    .map((index, i): TinyLayer => {
      if (shapes.has(`${index}.conv.0.weight`)) {
        const [cout, seen] = sizesOf(where, shapes, `${index}.conv.0.weight`);
        const memory = seen === 2 * channels;
        if (!memory && seen !== channels) fail(`${where}] [${index}`, `${channels} channels in`, String(seen));
        const layer = { kind: "block", index, cin: channels, cout, memory } as const;
        channels = cout;
        return layer;
      }
      const [cout, cin] = sizesOf(where, shapes, `${index}.weight`);
      if (i > 0 && cin !== channels) fail(`${where}] [${index}`, `${channels} channels in`, String(cin));
      channels = cout;
      const isEnd = i === 0 || i === indices.length - 1;
      if (shapes.has(`${index}.bias`) !== isEnd)
        fail(`${where}] [${index}`, "a bias in the first and last layer only", "another");
      return { kind: isEnd ? "conv" : "resample", index, cin, cout };
    });
  checkNumbers(where, layers);
  return layers;
}

/**
 * Refuses gaps in the numbers that layers without weights do not explain: a file without a layer would give smaller pictures, or
 * other ones. Such layers are a ReLU behind the first convolution and nearest-2× upsampling before each resampling one of a decoder.
 */
function checkNumbers(where: string, layers: readonly TinyLayer[]): void {
  let before: number | undefined;
  for (const [i, { kind, index }] of layers.entries()) {
    const gap = i === 0 ? 1 : index - layers[i - 1]!.index;
    if (kind === "resample") before ??= gap;
    const isBehindFirst = i === 1 && kind === "block";
    const most = kind === "resample" ? Math.min(before!, 2) : kind === "conv" || isBehindFirst ? 2 : 1;
    if (gap > most || (kind === "resample" && gap < most))
      fail(
        `${where}] [${index}`,
        `${index - most} as the layer before`,
        `${layers[i - 1]!.index}: weights are missing`,
      );
  }
}

/**
 * Makes a filter over two frames out of one over channels of a frame, then of the frame before it.
 * [K,2·C,3,3] → [K,C,2,3,3], the frame before first.
 */
export function filterOverFrames(w: Weights, [cout, cin]: readonly [number, number]): Tensor {
  const stored = w.tensor("weight", [cout, 2 * cin, 3, 3]);
  const { buffer, byteOffset } = stored.storage.place!;
  const bytes = new Uint8Array(countOf(stored.dims) * elementBytes(stored.dtype));
  const values = decodeStored(buffer.readSync(bytes, byteOffset + stored.byteOffset), stored.dtype);
  const filter = new Float32Array(values.length);
  for (let k = 0; k < cout; k++)
    for (let c = 0; c < cin; c++)
      for (const [frame, from] of [cin + c, c].entries()) {
        const begin = (k * 2 * cin + from) * 9;
        filter.set(values.subarray(begin, begin + 9), ((k * cin + c) * 2 + frame) * 9);
      }
  const place = allocateBuffer(filter.byteLength);
  place.writeSync(filter);
  const storage = makeStorage("weights", filter.byteLength, `${w.path}.frames`, { buffer: place, byteOffset: 0 });
  return packedTensor(storage, [cout, cin, 2, 3, 3], "f32");
}
