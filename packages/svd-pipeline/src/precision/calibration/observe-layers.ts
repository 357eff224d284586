import type { OpId } from "@vd/kernels-native";
import {
  type CallOptions,
  type ConvOptions,
  elementwise,
  type Graph,
  type LayerNormOptions,
  type LinearOptions,
  pausable,
  pixels,
  type Tensor,
  tokens,
} from "@vd/tensor";
import type { Unet, UnetInputs } from "../../models/index";
import { isGated, type LayerKind, LayerKinds, PRECISION_PLANS } from "../layer-kinds";

/** A layer that some choice of precision computes in 8 bits. */
export interface ObservedLayer {
  name: string;
  kind: LayerKind;
  /** [N,C], or filters [K,C,T,R,S]. */
  weight: Tensor;
  /** Whether what comes before can divide its channels on the way. */
  isFoldable: boolean;
}

/** Tokens of a layer that are kept of each call of the denoiser. */
const TOKENS_OF_CALL = 8;

/** Returns the name of the output with the largest magnitude of each channel of what a layer takes, [B,F,1,C]. */
export const maximaName = (layer: string): string => `largest of ${layer}`;

/** Returns the name of the output with some tokens of what a layer takes, [1,1,n,C]. */
export const samplesName = (layer: string): string => `tokens of ${layer}`;

const isInSomePlan = (kind: LayerKind) => Object.values(PRECISION_PLANS).some((plan) => plan[kind] !== "full");

/** Some tokens of x with equal distances, a view. x: [B,F,S,C] → [1,1,n,C]. */
function someTokens(x: Tensor): Tensor {
  const [b, f, s, channels] = x.dims as [number, number, number, number];
  const count = b * f * s;
  const step = Math.max(1, Math.floor(count / TOKENS_OF_CALL));
  return { ...x, dims: [1, 1, Math.floor(count / step), channels], pitch: x.pitch * step };
}

/** Sides of a window of `pool` are at most this long; padding may be half of it. */
const LONGEST_WINDOW = 64;

/** The largest number of each channel of all tokens of a frame. x: [B,F,S,C] → [B,F,1,1,C]. */
function largestOfTokens(g: Graph, name: string, x: Tensor): Tensor {
  let largest = pixels(x, x.dims[2]!, 1);
  // A pass for each factor of 64 in the number of tokens, at least one: 9216 tokens become 144, 3 and 1.
  do {
    const size = largest.dims[2]!;
    const kernel = Math.min(size, LONGEST_WINDOW);
    const missing = Math.ceil(size / kernel) * kernel - size;
    const padding = [0, 0, Math.floor(missing / 2), Math.ceil(missing / 2), 0, 0] as const;
    largest = g.pool({
      ...{ name, x: largest, mode: "max", padding },
      ...{ kernel: [1, kernel, 1], stride: [1, kernel, 1] },
    });
  } while (largest.dims[2]! > 1);
  return largest;
}

/** Makes outputs of what a layer takes. */
function observe(g: Graph, layer: string, x: Tensor): void {
  const rows = x.dims.length === 5 ? tokens(x) : x;
  const magnitudes = elementwise(g, (e) => e.abs(rows), { name: `${layer}.magnitudes` });
  g.output(maximaName(layer), largestOfTokens(g, `${layer}.largest`, magnitudes));
  const sample = someTokens(rows);
  const out = g.empty([...sample.dims], "f32");
  g.output(samplesName(layer), g.copy({ name: `${layer}.tokens`, x: sample, out }));
}

/** True if the op can divide channels of its result by its weights. */
function foldsChannels(op: OpId, call: CallOptions): boolean {
  if (op === "layer_norm") return (call as LayerNormOptions).weight !== undefined;
  return op === "linear" && isGated((call as LinearOptions).act);
}

/** Returns the UNet with outputs of what its layers take, whoever records a call of it; `found` gets the layers. */
export function observedUnet(unet: Unet, found: Map<string, ObservedLayer>): Unet {
  const forward = pausable(function* (g: Graph, inputs: UnetInputs) {
    const kinds = new LayerKinds();
    const foldable = new WeakSet<object>();
    let isDone = false;
    g.rewriteCalls((op, call, record) => {
      if (isDone) return record(op, call);
      // A table serves every size of pictures, also those where a layer gains only with less rows.
      const kind = kinds.of(op, call, { areCodesPassed: true, isNormInside: true, areOperandsCodes: false });
      if (kind && kind !== "attention" && isInSomePlan(kind)) {
        // Attention has no weights to smooth.
        const { name, x, weight } = call as LinearOptions & ConvOptions;
        found.set(name!, { name: name!, kind, weight, isFoldable: foldable.has(x.storage) });
        isDone = true; // What observes is no layer.
        observe(g, name!, x); // Before the layer, which may take over the norm that it reads.
        isDone = false;
      }
      const result = record(op, call);
      kinds.note(result, op, call);
      if (foldsChannels(op, call)) foldable.add(result.storage);
      return result;
    });
    const prediction = yield* unet.forward.inPieces(g, inputs);
    isDone = true;
    return prediction;
  });
  return { ...unet, forward };
}
