import { having, listOf } from "@vd/kernels-native";
import {
  conv,
  elementwise,
  frameRange,
  type Graph,
  type Module,
  type Pausable,
  type PausableModule,
  pausable,
  pixels,
  requireLayer,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import { filterOverFrames, type TinyLayer } from "./layers";

/** Latents are squeezed into ± this. Source: madebyollin/taesd@2a1b414 taesd.py Clamp. */
const CLAMP = 3;

/** How a decoder goes over frames: all at once, or one by one with what the frames before left. */
export type FrameMode = "clip" | "stream";

function relu(g: Graph, x: Tensor, name: string): Tensor {
  const y = elementwise(g, (e) => e.relu(tokens(x)), { name: `${name}.relu` });
  return pixels(y, x.dims[2]!, x.dims[3]!);
}

/** The first convolution of a block that sees the frame before, with ReLU: over two frames, with zeros before the first. As
 *  a stream it keeps the frame in a state, [1,2,H,W,C]: the one before, then this one. */
function memoryConv(w: Weights, cin: number, cout: number): Module<[x: Tensor, mode: FrameMode]> {
  const weight = filterOverFrames(w, [cout, cin]);
  const bias = w.tensor("bias", [cout]);
  return (g, x, mode) => {
    const padding = (front: number) => [front, 0, 1, 1, 1, 1] as const;
    if (mode === "clip") return g.conv({ name: w.path, x, weight, bias, padding: padding(1), act: "relu" });
    const both = g.state(`memory ${w.path}`, [1, 2, ...x.dims.slice(2)]);
    const [before, now] = [frameRange(both, 0, 1), frameRange(both, 1, 2)];
    g.copy({ name: `${w.path}.memory`, x: tokens(x), out: tokens(now) });
    const y = g.conv({ name: w.path, x: both, weight, bias, padding: padding(0), act: "relu" });
    g.copy({ name: `${w.path}.memory`, x: tokens(x), out: tokens(before) });
    return y;
  };
}

/** Three convolutions with ReLU between them, added to the input, and ReLU.
 *  Source: madebyollin/taesd@2a1b414 taesd.py Block, madebyollin/taesdv@1b2655e taesdv.py MemBlock. */
function block(w: Weights, { cin, cout, memory }: TinyLayer & { kind: "block" }): Module<[x: Tensor, mode: FrameMode]> {
  const kernel: [number, number, number] = [1, 3, 3];
  const plain = memory ? undefined : conv(w.at("conv.0"), { cin, cout, kernel });
  const first = plain ? (g: Graph, x: Tensor) => plain(g, x, { act: "relu" }) : memoryConv(w.at("conv.0"), cin, cout);
  const [second, third] = [2, 4].map((i) => conv(w.at(`conv.${i}`), { cin: cout, cout, kernel })) as [
    ReturnType<typeof conv>,
    ReturnType<typeof conv>,
  ];
  const skip = cin === cout ? undefined : conv(w.at("skip"), { cin, cout, kernel: [1, 1, 1], bias: false });
  return (g, x, mode) => {
    const h = first(g, x, mode);
    const y = second(g, h, { act: "relu" });
    return relu(g, third(g, y, { residual: skip ? skip(g, x) : x }), w.path);
  };
}

type LayerModule = Module<[x: Tensor, mode: FrameMode]>;

function decoderLayer(w: Weights, layer: TinyLayer, isFirst: boolean): LayerModule {
  const scope = w.at(layer.index);
  if (layer.kind === "block") return block(scope, layer);
  const { cin, cout, kind } = layer;
  const module = conv(scope, { cin, cout, kernel: [1, 3, 3], bias: kind === "conv", upsample: kind === "resample" });
  const call = isFirst ? { act: "relu" as const } : {};
  return (g, x) => module(g, x, call);
}

function encoderLayer(w: Weights, layer: TinyLayer): LayerModule {
  const scope = w.at(layer.index);
  if (layer.kind === "block") return block(scope, layer);
  const { cin, cout, kind } = layer;
  const stride: [number, number, number] = kind === "resample" ? [1, 2, 2] : [1, 1, 1];
  const module = conv(scope, { cin, cout, kernel: [1, 3, 3], bias: kind === "conv", stride });
  return (g, x) => module(g, x);
}

function* inSequence(g: Graph, modules: readonly LayerModule[], x: Tensor, mode: FrameMode): Pausable<Tensor> {
  let y = x;
  for (const module of modules) {
    y = module(g, y, mode);
    yield;
  }
  return y;
}

const mapped = (g: Graph, x: Tensor, name: string, build: Parameters<typeof elementwise>[1]): Tensor =>
  pixels(elementwise(g, build, { name }), x.dims[2]!, x.dims[3]!);

const LAYERS = { layers: listOf(having("a layer of openTiny", ["kind", "index", "cin", "cout"])) };

/** A tiny decoder. z: [1,F,h,w,C], scaled as denoisers have it → frames [1,F,H,W,3] in about [-1,1].
 *  @throws VdError `weights` naming the first key that does not fit, `attr` for what are no weights or layers */
export function tinyDecoder(w: Weights, layers: readonly TinyLayer[]): PausableModule<[z: Tensor, mode?: FrameMode]> {
  requireLayer("tinyDecoder", w, { layers }, LAYERS);
  const modules = layers.map((layer, i) => decoderLayer(w, layer, i === 0));
  return pausable(function* (g: Graph, z: Tensor, mode: FrameMode = "clip") {
    const x = mapped(g, z, "clamp", (e) => e.mul(e.tanh(e.div(tokens(z), CLAMP)), CLAMP));
    const y = yield* inSequence(g, modules, x, mode);
    return mapped(g, y, "frames", (e) => e.sub(e.mul(tokens(y), 2), 1));
  });
}

/** A tiny encoder. x: [1,F,H,W,3] in about [-1,1] → latents [1,F,h,w,C], scaled as denoisers have them.
 *  @throws VdError as {@link tinyDecoder} */
export function tinyEncoder(w: Weights, layers: readonly TinyLayer[]): PausableModule {
  requireLayer("tinyEncoder", w, { layers }, LAYERS);
  const modules = layers.map((layer) => encoderLayer(w, layer));
  return pausable(function* (g: Graph, x: Tensor) {
    const unit = mapped(g, x, "pixels", (e) => e.add(e.mul(tokens(x), 0.5), 0.5));
    return yield* inSequence(g, modules, unit, "clip");
  });
}
