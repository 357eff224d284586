import { countOf } from "@vd/kernels-native";
import {
  elementwise,
  frameRange,
  type Graph,
  type Pausable,
  PhiloxGenerator,
  packedBytes,
  pixels,
  reshape,
  type SharedBlock,
  type Tensor,
  tokens,
} from "@vd/tensor";
import type { CallKind } from "../denoising/call-planner";
import type { Models } from "../opening/models";
import {
  boundsAttributes,
  denoiserInput,
  latentSizes,
  planesIn,
  predict,
  predictionOut,
  type StageShape,
  type StepNeeds,
} from "./definitions";
import type { StageDefinition } from "./stage";

/** What the stages of one generation's calls have in common. */
export interface CallNeeds extends StepNeeds {
  /** Some calls take the inner blocks' features of an earlier one. */
  reuses: boolean;
  /** The change of the denoiser's input is measured. */
  measures: boolean;
}

/** The state of calls' stages that has the inner blocks' features. */
export const FEATURES = "features";

/** The names of calls' stages. */
const NAMES: Readonly<Record<CallKind, string>> = {
  full: "denoise",
  unguided: "denoise, unguided",
  "full, reusing": "denoise, reusing features",
  "unguided, reusing": "denoise, unguided, reusing features",
  skipped: "denoise, call skipped",
};

/** Returns the name of a call's stage. */
export const callName = (kind: CallKind): string => NAMES[kind];

/** The last row of a tensor of one or two, [1,…]. */
function lastRow(t: Tensor): Tensor {
  const dims = [1, ...t.dims.slice(1)];
  return { ...t, dims, byteOffset: t.byteOffset + (t.dims[0]! - 1) * packedBytes(dims, t.dtype) };
}

/** Mean magnitude of a tensor [1,F,S,C] as output `name` [1,1,1,2], of which the first number counts. */
function meanMagnitude(g: Graph, name: string, x: Tensor, [height, width]: readonly number[]): void {
  const stats = { name, x: pixels(x, height!, width!), groups: 1, eps: 1, joinFrames: true };
  g.output(name, g.groupNormStats(stats));
}

/** How a call is made that is not skipped. */
export interface MadeCall {
  kind: CallKind;
  /** Some calls take the inner blocks' features of an earlier one, which lie in `memory`. */
  reuses: boolean;
  memory: SharedBlock;
}

/** Rows that a call of a kind computes. */
const rowsOf = ({ rows }: StageShape, kind: CallKind): 1 | 2 => (rows === 2 && kind.startsWith("full") ? 2 : 1);

/** A state of a graph that lies in a block. */
function stateIn(memory: SharedBlock, g: Graph, name: string, dims: readonly number[], dtype = g.dtype): Tensor {
  const tensor = memory.tensor(name, dims, dtype);
  g.states.set(name, tensor);
  return tensor;
}

/** Records the denoiser for a kind of call. latents: [1,F,h,w,C]; inputScale: [1], else an input of the graph → [B,F,h,w,C]. */
function* predictKind(
  g: Graph,
  models: Models,
  whole: StageShape,
  { kind, reuses, memory }: MadeCall,
  { latents, inputScale }: { latents: Tensor; inputScale?: Tensor | undefined },
): Pausable<Tensor> {
  const shape = { ...whole, rows: rowsOf(whole, kind) };
  const sample = denoiserInput(g, models, shape, latents, inputScale);
  if (!reuses) return yield* predict(g, models, shape, sample);
  const [height, width] = latentSizes(models, shape);
  const dims = [whole.rows, shape.numFrames, height, width, models.unet.deepChannels];
  const all = stateIn(memory, g, FEATURES, dims);
  const features = shape.rows === whole.rows ? all : lastRow(all);
  const mode = kind.endsWith("reusing") ? "reuse" : "compute";
  return yield* predict(g, models, shape, sample, { mode, features });
}

/**
 * One call of the denoiser and the sampler's step after it, of one of several kinds that share their states in `memory`: `x` and
 * `denoised` [1,F,h,w,C], `history`, and the inner blocks' features. Inputs are those of `sampleStage`, but that `inputScale` is this
 * call's; what is measured also needs `nextInputScale` [1] → `firstFrame` of x, and measured `change` and `size` [1,1,1,2]: mean
 * magnitudes of the denoiser's input's difference and of the input.
 */
export function callStage(
  models: Models,
  shape: StageShape,
  needs: CallNeeds,
  kind: CallKind,
  memory: SharedBlock,
): StageDefinition {
  const { numHistory, drawsNoise, drawsOnDevice, bounds, measures } = needs;
  const latents = latentSizes(models, shape);
  const size = [shape.numFrames, ...latents];
  const isGuided = rowsOf(shape, kind) === 2;
  const numData = bounds ? 1 : 0;
  const state = (g: Graph, name: string, dims: readonly number[]) => stateIn(memory, g, name, dims, "f32");

  return {
    name: callName(kind),
    dtype: shape.dtype,
    *build(g) {
      const x = state(g, "x", [1, ...size]);
      const denoised = state(g, "denoised", [1, ...size]);
      const history = numHistory > 0 ? state(g, "history", [numHistory, ...size]) : undefined;
      const isSkipped = kind === "skipped";
      const inputScale = measures || !isSkipped ? g.input("inputScale", [1], "f32") : undefined;
      const before = measures ? scaled(g, "change.before", x, inputScale!) : undefined;
      const p = isSkipped
        ? denoised
        : yield* predictKind(g, models, shape, { kind, reuses: needs.reuses, memory }, { latents: x, inputScale });
      g.samplerStep({
        ...{ name: "sampler_step", prediction: p, x, history, numHistory, ...boundsAttributes(bounds) },
        coefficients: g.input("coefficients", [2 + numHistory + numData, 3 + numHistory + numData], "f32"),
        guidance: isGuided ? g.input("guidance", [shape.numFrames], "f32") : undefined,
        noise: drawsNoise && !drawsOnDevice ? g.input("noise", [1, ...size], "f32") : undefined,
        ...(drawsNoise && drawsOnDevice
          ? { philox: g.input("philox", [4], "i32"), lanes: new PhiloxGenerator(0).lanes(countOf(size)) }
          : {}),
        out: x,
        // With its own data prediction for the model's, the step guesses what it was given.
        outputs: { ...(isSkipped ? {} : { denoised }), ...(history ? { nextHistory: history } : {}) },
      });
      if (before) measureChange(g, before, x, latents);
      g.output("firstFrame", frameRange(x, 0, 1));
    },
  };
}

/**
 * One call of the denoiser, of one of several kinds that share the inner blocks' features in `memory`, for clips whose steps are taken on
 * the host. Inputs and outputs are those of `denoiseStage`; there is none of a call that is skipped.
 */
export function predictStage(models: Models, shape: StageShape, made: MadeCall): StageDefinition {
  const [height, width, channels] = latentSizes(models, shape);
  return {
    name: callName(made.kind),
    dtype: shape.dtype,
    *build(g) {
      const planes = g.input("latents", [1, shape.numFrames, channels, height, width], "f32");
      const latents = yield* planesIn(g, planes, { name: "latents" });
      predictionOut(g, yield* predictKind(g, models, shape, made, { latents }), shape.numFrames);
    },
  };
}

/** x times a number that is an input [1], as tokens. */
function scaled(g: Graph, name: string, x: Tensor, scale: Tensor): Tensor {
  return elementwise(g, (e) => e.mul(tokens(x), reshape(scale, [1, 1, 1, 1])), { name });
}

/** Compares the denoiser's next input with the one before the call, as tokens. */
function measureChange(g: Graph, before: Tensor, x: Tensor, latents: readonly number[]): void {
  const after = scaled(g, "change.after", x, g.input("nextInputScale", [1], "f32"));
  meanMagnitude(
    g,
    "change",
    elementwise(g, (e) => e.abs(e.sub(after, before)), { name: "change.difference" }),
    latents,
  );
  meanMagnitude(
    g,
    "size",
    elementwise(g, (e) => e.abs(before), { name: "change.magnitude" }),
    latents,
  );
}
