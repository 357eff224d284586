import { COUNT, OBJECT, requireArgument, requireFields } from "@vd/kernels-native";
import { channelRange, elementwise, GRAPH, type Graph, type Pausable, pixels, type Tensor, tokens } from "@vd/tensor";
import { recordDrift } from "../drift/record";
import type { FrameMemory } from "./frame-memory";
import { eulerStep, preconditioning } from "./levels";
import type { LiveModel } from "./live-model";
import { recordHold } from "./record-hold";

/** Which of the guard's rows a program has. */
export interface FrameGuard {
  renoise: boolean;
  hold: boolean;
}

/** Which program is recorded. */
export interface FrameProgram {
  steps: number;
  /** Deep features: computed and kept, taken from an earlier frame, or neither. */
  deep: "none" | "compute" | "reuse";
  /** The guard's rows: whether noise is added to the context, and whether the frame is held to the start's look. The amounts are inputs. */
  guard: FrameGuard;
  /** Whether the change against the frame of the deep features and against the frame before is measured. */
  change: boolean;
  /** Whether drift is measured. */
  drift: boolean;
}

const CHANNELS = 3;

/** Video in: blends a pushed picture into the newest frame. */
function recordVideo(g: Graph, { newest, video, blend }: FrameMemory): void {
  const [frame, pushed] = [tokens(newest.tensor), tokens(video.tensor)];
  elementwise(g, (e) => e.add(frame, e.mul(blend.tensor, e.sub(pushed, frame))), { name: "context.video", out: frame });
}

/** Drops the context's oldest frame for the newest one. A product with zeros and ones, which changes no number: it goes over whole
 *  pixels, where copies of three channels would go one by one. */
function recordShift(g: Graph, { context, newest }: FrameMemory): void {
  const channels = context.tensor.dims[4]!;
  const all = channels + CHANNELS;
  const data = new Float32Array(channels * all);
  for (let c = 0; c < channels; c++) data[c * all + c + CHANNELS] = 1;
  const weight = g.constant(data, [channels, all]);
  const moved = g.linear({ name: "context.shift", x: tokens(context.tensor), x2: tokens(newest.tensor), weight });
  g.pointwise({ name: "context.keep", a: moved, out: tokens(context.tensor) });
}

/** The context as the network takes it, behind the noisy frame: the block's first channels are left as they are. */
function recordContext(g: Graph, { info }: LiveModel, memory: FrameMemory, renoise: boolean): Tensor {
  const { tensor: context } = memory.context;
  const channels = context.dims[4]!;
  const { tensor: sample } = memory.sample;
  const out = tokens(channelRange(sample, CHANNELS, CHANNELS + channels));
  const scale = 1 / info.sigmaData;
  if (renoise) {
    const noise = tokens(g.layoutIn({ name: "context.noise", x: memory.contextNoise.tensor }));
    const level = memory.renoise.tensor;
    elementwise(g, (e) => e.mul(e.add(tokens(context), e.mul(level, noise)), scale), { name: "context.guard", out });
  } else g.pointwise({ name: "context.scale", a: tokens(context), aScale: scale, out });
  return sample;
}

/** Mean absolute difference of two frames as an output: mean and 1/deviation, of which the first counts. */
export function recordChange(g: Graph, name: string, frame: Tensor, other: Tensor): void {
  const difference = elementwise(g, (e) => e.abs(e.sub(tokens(frame), tokens(other))), { name: `change.${name}` });
  const x = pixels(difference, frame.dims[2]!, frame.dims[3]!);
  g.output(`change.${name}`, g.groupNormStats({ name: `change.${name}.mean`, x, groups: 1, eps: 1e-6 }));
}

/** The denoising of one frame. → x after the last step, [1,1,H,W,3]. */
export function* recordDenoising(
  g: Graph,
  model: LiveModel,
  {
    sigmas,
    memory,
    sample,
    deep,
  }: { sigmas: readonly number[]; memory: FrameMemory; sample: Tensor; deep: FrameProgram["deep"] },
): Pausable<Tensor> {
  const { info, network } = model;
  const noisy = channelRange(sample, 0, CHANNELS);
  let x = g.layoutIn({ name: "sampler.start", x: memory.noise.tensor, scale: sigmas[0]! });
  for (const [i, sigma] of sigmas.entries()) {
    const numbers = preconditioning(sigma, info.sigmaData);
    const factors = eulerStep(numbers, sigma, sigmas[i + 1] ?? 0);
    g.pointwise({ name: "sampler.input", a: tokens(x), aScale: numbers.input, out: tokens(noisy) });
    const timestep = g.constant(Float32Array.of(numbers.timestep), [1, 1]);
    const embedding = network.embed(g, { timestep, classes: memory.action.tensor });
    const epilogue = { outScale: factors.result, residual: x, residualScale: factors.sample };
    // Features differ from level to level: those of the last one are kept, where the picture is decided.
    const features =
      i === sigmas.length - 1 && deep !== "none" ? { mode: deep, features: memory.features.tensor } : undefined;
    x = yield* network.forward.inPieces(g, { sample, embedding, epilogue, deep: features });
  }
  return x;
}

/**
 * Records one whole frame: video in, context, all steps, the finished frame as 8 bits, and the context's move to the next
 * frame. Every program of a session works on the same memory.
 */
export function* recordFrame(g: Graph, model: LiveModel, memory: FrameMemory, program: FrameProgram): Pausable<void> {
  requireArgument("recordFrame g", g, GRAPH);
  requireFields("recordFrame model", model, { info: OBJECT });
  requireFields("recordFrame memory", memory, { newest: OBJECT, video: OBJECT, picture: OBJECT });
  requireFields("recordFrame program", program, { guard: OBJECT, steps: COUNT });
  const { tensor: newest } = memory.newest;
  recordVideo(g, memory);
  recordShift(g, memory);
  const sample = recordContext(g, model, memory, program.guard.renoise);
  const sigmas = model.info.sigmas.get(program.steps)!;
  const denoised = yield* recordDenoising(g, model, { sigmas, memory, sample, deep: program.deep });
  const frame = program.guard.hold ? recordHold(g, memory, denoised) : denoised;
  g.framesOut({ name: "frame.levels", x: frame, out: memory.picture.tensor });
  if (program.deep === "compute")
    g.copy({ name: "change.reference", x: tokens(newest), out: tokens(memory.featureFrame.tensor) });
  if (program.change) recordChange(g, "frame", frame, newest);
  if (program.drift) recordDrift(g, frame, newest);
  elementwise(g, (e) => e.max(e.min(tokens(frame), 1), -1), { name: "frame.clamp", out: tokens(newest) });
  if (program.change) recordChange(g, "features", newest, memory.featureFrame.tensor);
  yield;
}
