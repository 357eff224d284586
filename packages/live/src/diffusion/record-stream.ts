import { elementwise, frameRange, type Graph, type Pausable, pixels, type Tensor, tokens } from "@vd/tensor";
import { recordDrift } from "../drift/record";
import { recordLevels } from "../model/picture-levels";
import { recordChange } from "../model/record-frame";
import { type BatchMemory, extraCalls, type PictureMemory } from "./stream-memory";
import type { DiffusionModel, GuidanceKind } from "./types";

/** Which program of a stream is recorded. */
export interface StreamProgram {
  steps: number;
  guidance: GuidanceKind;
  /** Whether all steps begin with this frame's picture: the first frame of a stream, which has none on their way. */
  first: boolean;
  /** Whether the change against the frame before, and drift, are measured. */
  change: boolean;
  drift: boolean;
  /** Whether finished latents are blended with those of the frame before. */
  temporal: boolean;
}

/** What the recording of a frame's steps works on. */
interface Parts {
  model: DiffusionModel;
  batch: BatchMemory;
  program: StreamProgram;
}

/** What a picture that comes in is made of: the frame before, the pushed picture and its part. */
export type VideoTensors = Readonly<Record<"previous" | "video" | "blend", Pick<PictureMemory["video"], "tensor">>>;

/** Where a frame is kept, and the one before. */
export type KeptTensors = Readonly<Record<"newest" | "previous", Pick<PictureMemory["newest"], "tensor">>>;

/** Video in: the pushed picture, in numbers or bytes, blended into the frame before. → [1,F,H,W,3] in the type of the network. */
export function recordVideo(g: Graph, { previous, video, blend }: VideoTensors): Tensor {
  const frame = tokens(previous.tensor);
  const pushed = video.tensor.dtype === "i8" ? recordLevels(g, video.tensor) : tokens(video.tensor);
  const out = g.empty(frame.dims);
  // Of two products, so that a picture that is not blended keeps its digits.
  elementwise(g, (e) => e.add(e.mul(blend.tensor, pushed), e.mul(e.sub(1, blend.tensor), frame)), {
    name: "context.video",
    out,
  });
  return pixels(out, previous.tensor.dims[2]!, previous.tensor.dims[3]!);
}

/** signal · latents + level · noise for the rows `begin` to `end`, into `out`. */
function recordNoisy(
  g: Graph,
  { batch }: Parts,
  latents: Tensor,
  { begin, end, out }: { begin: number; end: number; out: Tensor },
): void {
  const row = ({ tensor }: BatchMemory["noise"]) => frameRange(tensor, begin, end);
  const [noise, signal, level] = [tokens(row(batch.noise)), row(batch.signal), row(batch.level)];
  elementwise(g, (e) => e.add(e.mul(level, noise), e.mul(signal, latents)), { name: "sampler.noisy", out });
}

/** The batch's samples: the new picture's at the first step, those of the frames on their way behind it. → [1,N,S,C]. */
function recordSamples(g: Graph, parts: Parts, latents: Tensor): Tensor {
  const { batch, program } = parts;
  const { steps, first } = program;
  const x = g.empty(tokens(batch.noise.tensor).dims, "f32");
  if (first) {
    recordNoisy(g, parts, latents, { begin: 0, end: steps, out: x });
    return x;
  }
  recordNoisy(g, parts, latents, { begin: 0, end: 1, out: frameRange(x, 0, 1) });
  if (steps > 1) g.copy({ name: "sampler.waiting", x: tokens(batch.waiting.tensor), out: frameRange(x, 1, steps) });
  return x;
}

/** The network's predictions, those that guidance needs besides first. x: [1,N,S,C] → [1,R,S,C]. */
function* recordPrediction(g: Graph, { model, batch, program }: Parts, x: Tensor): Pausable<Tensor> {
  const { steps, guidance } = program;
  const extra = extraCalls(guidance, steps);
  const [, , height, width] = batch.noise.tensor.dims as [number, number, number, number, number];
  const rows = g.empty([1, extra + steps, x.dims[2]!, x.dims[3]!]);
  if (extra > 0) g.copy({ name: "sampler.input", x: frameRange(x, 0, extra), out: frameRange(rows, 0, extra) });
  g.copy({ name: "sampler.input", x, out: frameRange(rows, extra, extra + steps) });
  const [time, text] = [batch.time.tensor, batch.text.tensor];
  return tokens(yield* model.unet.forward.inPieces(g, { sample: pixels(rows, height, width), time, text }));
}

/** The residual noise that this frame's guidance begins with: each step takes over that of the step before. → [1,N,S,C]. */
function recordResidual(g: Graph, { batch, program }: Parts, predicted: Tensor): Tensor {
  const { steps, guidance } = program;
  const kept = tokens(batch.residual.tensor);
  if (steps === 1) return guidance === "initialize" ? frameRange(predicted, 0, 1) : kept;
  const residual = g.empty(kept.dims, "f32");
  const newest = guidance === "initialize" ? frameRange(predicted, 0, 1) : frameRange(tokens(batch.noise.tensor), 0, 1);
  g.copy({ name: "sampler.residual", x: newest, out: frameRange(residual, 0, 1) });
  g.copy({ name: "sampler.residual", x: frameRange(kept, 0, steps - 1), out: frameRange(residual, 1, steps) });
  return residual;
}

/** Keeps the residual noise for the next frame: that of the guided prediction, beside the next step's own noise. */
function recordNextResidual(g: Graph, { batch, program: { steps } }: Parts, residual: Tensor, guided: Tensor): void {
  const [noise, kept] = [tokens(batch.noise.tensor), tokens(batch.residual.tensor)];
  const [ofResidual, ofGuided] = [batch.ofResidual.tensor, batch.ofGuided.tensor];
  const change = g.empty(noise.dims, "f32");
  elementwise(g, (e) => e.add(e.mul(ofResidual, residual), e.mul(ofGuided, guided)), {
    name: "sampler.residual",
    out: change,
  });
  const add = (to: [number, number], from: [number, number]) => {
    const [a, b] = [frameRange(noise, ...from), frameRange(change, ...to)];
    g.pointwise({ name: "sampler.residual", a, b, out: frameRange(kept, ...to) });
  };
  if (steps > 1) add([0, steps - 1], [1, steps]);
  add([steps - 1, steps], [0, 1]);
}

/** The prediction led away from what guidance leads it from. predicted: [1,R,S,C] → [1,N,S,C]. */
function recordGuidance(g: Graph, parts: Parts, predicted: Tensor): Tensor {
  const { batch, program } = parts;
  const { steps, guidance } = program;
  if (guidance === "none") return predicted;
  const extra = extraCalls(guidance, steps);
  const withPrompt = frameRange(predicted, extra, extra + steps);
  const [scale, delta] = [batch.scale.tensor, batch.delta.tensor];
  const out = g.empty(withPrompt.dims, "f32");
  if (guidance === "full") {
    const without = frameRange(predicted, 0, steps);
    elementwise(g, (e) => e.add(without, e.mul(scale, e.sub(withPrompt, without))), { name: "sampler.guided", out });
    return out;
  }
  const residual = recordResidual(g, parts, predicted);
  elementwise(g, (e) => e.add(e.mul(delta, residual), e.mul(scale, e.sub(withPrompt, e.mul(delta, residual)))), {
    name: "sampler.guided",
    out,
  });
  recordNextResidual(g, parts, residual, out);
  return out;
}

/** Coefficients of a sampler's step that takes its sample for the data prediction and gives that back. Rows: next sample, denoised, data;
 *  columns: sample, prediction, noise, data. */
const DATA_OF_SAMPLE = [0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0];

/** Blends finished latents with those of the frame before, pixels that differ little, and keeps them for the next frame. → [1,1,S,C]. */
function recordTemporalBlend(g: Graph, { batch: { before, temporal } }: Parts, finished: Tensor): Tensor {
  const [, , height, width] = before.tensor.dims as [number, number, number, number, number];
  const sample = pixels(finished, height, width);
  const blended = g.samplerStep({
    ...{ name: "sampler.blend", prediction: sample, x: sample, previous: before.tensor, blend: temporal.tensor },
    coefficients: g.constant(Float32Array.from(DATA_OF_SAMPLE), [3, 4]),
  });
  g.copy({ name: "sampler.before", x: tokens(blended), out: tokens(before.tensor) });
  return tokens(blended);
}

/** Records the encoding of what comes in: → latents, [1,1,h,w,C]. */
export const recordEncoding = (g: Graph, { codec }: DiffusionModel, video: VideoTensors): Pausable<Tensor> =>
  codec.encode(g, recordVideo(g, video));

/** Records every step of the batch at once, and what is on its way to the next one. → the finished latents, [1,1,h,w,C]. */
export function* recordSteps(g: Graph, parts: Parts, latents: Tensor): Pausable<Tensor> {
  const { batch, program } = parts;
  const { steps } = program;
  const x = recordSamples(g, parts, latents);
  const guided = recordGuidance(g, parts, yield* recordPrediction(g, parts, x));
  const [ofSample, ofPrediction] = [batch.ofSample.tensor, batch.ofPrediction.tensor];
  const data = elementwise(g, (e) => e.add(e.mul(ofSample, x), e.mul(ofPrediction, guided)), {
    name: "sampler.data",
  });
  if (steps > 1) {
    const next = ({ tensor }: BatchMemory["noise"]) => frameRange(tensor, 1, steps);
    const [signal, level, noise] = [next(batch.signal), next(batch.level), tokens(next(batch.noise))];
    const finished = frameRange(data, 0, steps - 1);
    const out = tokens(batch.waiting.tensor);
    elementwise(g, (e) => e.add(e.mul(signal, finished), e.mul(level, noise)), { name: "sampler.next", out });
  }
  const [, , height, width] = batch.noise.tensor.dims as [number, number, number, number, number];
  const finished = frameRange(data, steps - 1, steps);
  const last = program.temporal ? recordTemporalBlend(g, parts, finished) : finished;
  const typed = g.dtype === "f32" ? last : g.copy({ name: "sampler.data", x: last, out: g.empty(last.dims) });
  return pixels(typed, height, width);
}

/** Records that the frame is kept as the newest one, in [-1, 1] and float32, and measures what is asked for against the one before. */
export function recordNewest(
  g: Graph,
  frame: Tensor,
  { newest, previous }: KeptTensors,
  { change, drift }: Pick<StreamProgram, "change" | "drift">,
): void {
  const kept = tokens(newest.tensor);
  const isMeasured = change || drift;
  const out = isMeasured ? g.empty(kept.dims, "f32") : kept;
  elementwise(g, (e) => e.max(e.min(tokens(frame), 1), -1), { name: "frame.clamp", out });
  if (!isMeasured) return;
  const shown = pixels(out, frame.dims[2]!, frame.dims[3]!);
  if (change) recordChange(g, "frame", shown, previous.tensor);
  if (drift) recordDrift(g, shown, previous.tensor);
  g.copy({ name: "frame.newest", x: out, out: kept });
}

/**
 * Records one whole frame of a stream of pictures: video in, encoding, one call of the network for the steps of as many frames on their
 * way, decoding, 8 bits. Source of the batch of steps and of residual guidance: https://arxiv.org/abs/2312.12491.
 */
export function* recordStream(
  g: Graph,
  model: DiffusionModel,
  { pictures, batch }: { pictures: PictureMemory; batch: BatchMemory },
  program: StreamProgram,
): Pausable<void> {
  const parts: Parts = { model, batch, program };
  const latents = yield* recordEncoding(g, model, pictures);
  const frame = yield* model.codec.decode(g, yield* recordSteps(g, parts, tokens(latents)));
  g.framesOut({ name: "frame.levels", x: frame, out: pictures.picture.tensor });
  recordNewest(g, frame, pictures, program);
  yield;
}
