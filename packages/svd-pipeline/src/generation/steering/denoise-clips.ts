import type { Predict } from "../../denoising/host-stepper";
import { type GenerationRun, latentDims } from "../context";
import type { StepRange } from "../denoise-latents";
import type { EncodedPicture } from "../encode-picture";
import type { StepState } from "../resume/generation-state";
import { type ClipModel, withClipModel } from "./clip-models";
import { clipsOf } from "./clips-of";
import { type ChannelColours, coloursOf, holdColours } from "./hold-colours";
import { fromBothEnds, lookingBack } from "./known-frames";
import { clipRun, denoiseOneClip, framesOf, joinFrames, pictureOfFrame } from "./one-clip";
import type { Clip } from "./timeline";

/** What is known of a video before it is denoised. */
export interface GivenFrames {
  /** What the models make of the picture. */
  picture: EncodedPicture;
  /** The clean latents of the frames before the picture and of the picture itself, [C,h,w] each, as decoding takes them; empty where the
   *  video begins with the picture. */
  past: readonly Float32Array[];
  /** What the models make of the last frame, and its clean latents. */
  last?: { picture: EncodedPicture; latents: Float32Array } | undefined;
}

/** A video that is being denoised clip by clip. */
interface Timeline {
  /** Clean latents by position, [C,h,w]; undefined for frames that are still to be made. */
  frames: (Float32Array | undefined)[];
  /** Noise of each position at the first noise level, [C,h,w]. */
  noise: Float32Array[];
  /** The pictures that the models have looked at, by position. */
  pictures: Map<number, EncodedPicture>;
  /** Whether the drift of colours from clip to clip is taken back. */
  holdsColours: boolean;
  /** The colours of the frames that the video begins with, once they are known. */
  anchor?: readonly ChannelColours[] | undefined;
  /** CLIP's embedding for clips that begin with another frame: that of the picture. */
  embedding: Float32Array;
}

/**
 * Denoises a video clip by clip: each clip knows the last frames of the one before, and goes on from them. first: noise at the first
 * noise level, [F,C,h,w]. Returns the clean latents from the picture on, [F,C,h,w].
 */
export async function denoiseClips(run: GenerationRun, first: Float32Array, given: GivenFrames): Promise<Float32Array> {
  const { shape, checked } = run.context;
  const { clips, between } = clipsOf(run.context);
  const count = clips.length + between.length;
  const timeline = await timelineOf(run, first, given);
  await runClips(clipRun(run), { timeline, clips, before: 0, count });
  const frames = timeline.frames.slice(-shape.numFrames) as Float32Array[];
  if (between.length === 0) return joinFrames(frames);
  const doubled = await timelineBetween(run, checked.loop ? [...frames, frames[0]!] : frames, given.picture);
  const faster = clipRun({ ...run, context: { ...run.context, checked: { ...checked, fps: 2 * checked.fps } } });
  await runClips(faster, { timeline: doubled, clips: between, before: clips.length, count });
  return joinFrames((checked.loop ? doubled.frames.slice(0, -1) : doubled.frames) as Float32Array[]);
}

/** The frames of a video, of which those that are given are known. */
async function timelineOf(
  { context, noise }: GenerationRun,
  first: Float32Array,
  given: GivenFrames,
): Promise<Timeline> {
  const { numFrames } = context.shape;
  const { picture, past, last } = given;
  const numPast = Math.max(0, past.length - 1);
  const end = numPast + numFrames - 1;
  const timeline: Timeline = {
    frames: Array.from({ length: numPast + numFrames }, (_, i) => past[i]),
    noise: [...framesOf(await noise.scaledFrames(numPast), numPast), ...framesOf(first, numFrames)],
    pictures: new Map([[numPast, picture]]),
    embedding: picture.embedding,
    holdsColours: clipsOf(context).clips.length > 1 || numPast > 0,
  };
  if (!last) return timeline;
  timeline.frames[end] = last.latents;
  timeline.pictures.set(end, last.picture);
  return timeline;
}

/** The frames of a finished video with an unknown one between every two. */
async function timelineBetween(
  { noise }: GenerationRun,
  frames: readonly Float32Array[],
  picture: EncodedPicture,
): Promise<Timeline> {
  const length = 2 * frames.length - 1;
  return {
    frames: Array.from({ length }, (_, i) => (i % 2 === 0 ? frames[i / 2] : undefined)),
    noise: framesOf(await noise.scaledFrames(length), length),
    pictures: new Map([[0, picture]]),
    embedding: picture.embedding,
    holdsColours: false,
  };
}

/** Clips to be denoised, and which steps of all are theirs. */
interface ClipJobs {
  timeline: Timeline;
  clips: readonly Clip[];
  /** Clips before the first of these, and all clips. */
  before: number;
  count: number;
}

/** Denoises clips one after the other and puts their frames on the timeline. */
async function runClips(run: GenerationRun, { timeline, clips, before, count }: ClipJobs): Promise<void> {
  const embeddings = [...timeline.pictures.values()].map(({ embedding }) => embedding);
  const jobs = clips.map((clip, i): ClipJob => ({ timeline, clip, index: before + i, count }));
  // What an earlier run has finished needs no model.
  while (jobs.length > 0 && (await takeFinished(run, jobs[0]!))) jobs.shift();
  // Own kernels stay loaded; a denoiser that runs elsewhere is opened for a picture and keeps its memory until it is closed.
  const groups = run.context.denoiser?.kind === "elsewhere" ? jobs.map((job) => [job]) : [jobs];
  for (const group of groups.filter(({ length }) => length > 0))
    await withClipModel(run, embeddings, async (model) => {
      for (const job of group) if (!(await takeFinished(run, job))) await denoiseClip(run, model, job);
    });
}

interface ClipJob {
  timeline: Timeline;
  clip: Clip;
  index: number;
  count: number;
}

/** The picture that a clip begins with: one that was given, or a frame's own latents, which no decoder and encoder have changed. */
function pictureAt(
  { context }: GenerationRun,
  { frames, pictures, embedding }: Timeline,
  position: number,
): EncodedPicture {
  const given = pictures.get(position);
  if (given) return given;
  return pictureOfFrame(context, frames[position]!, embedding);
}

/** Positions of the frames that a clip adds. */
const addedBy = ({ timeline, clip }: ClipJob): number[] =>
  clip.positions.filter((at): at is number => at !== undefined && timeline.frames[at] === undefined);

/** Puts the frames of a clip that an earlier run has finished on the timeline; false where there is none. */
async function takeFinished({ context, noise, progress }: GenerationRun, job: ClipJob): Promise<boolean> {
  const finished = await context.state?.clip(job.index);
  if (!finished) return false;
  const { timeline, index, count } = job;
  for (const [i, at] of addedBy(job).entries()) timeline.frames[at] = finished.added[i]!;
  timeline.anchor = finished.anchor;
  await noise.goOnFrom(finished.noise);
  const { numSteps } = context.sampling.sampler;
  progress.report("denoise", (index + 1) * numSteps, count * numSteps);
  return true;
}

async function predictorOf(run: GenerationRun, model: ClipModel, { timeline, clip }: ClipJob): Promise<Predict> {
  const forward = await model.from(pictureAt(run, timeline, clip.positions[0]!));
  if (!clip.isBounded) return forward;
  const backward = await model.from(pictureAt(run, timeline, clip.positions.at(-1)!));
  const numCalls = lookingBack(run.context.sampling.sampler);
  return fromBothEnds(forward, backward, { numFrames: clip.positions.length, numCalls });
}

async function denoiseClip(run: GenerationRun, model: ClipModel, job: ClipJob): Promise<void> {
  const { context, noise } = run;
  const { timeline, clip, index, count } = job;
  const { sampler } = context.sampling;
  const spare = await noise.scaledFrames(clip.positions.filter((at) => at === undefined).length);
  const spares = framesOf(spare, Math.max(1, spare.length / timeline.noise[0]!.length));
  const known = clip.positions.map((at) => (at === undefined ? undefined : timeline.frames[at]));
  const latents = joinFrames(clip.positions.map((at) => (at === undefined ? spares.pop()! : timeline.noise[at]!)));
  const range = { before: index * sampler.numSteps, total: count * sampler.numSteps };
  const after = await lastStepOf(run, range);
  const result = await denoiseOneClip(run, {
    ...{ predict: await predictorOf(run, model, job), features: model.features },
    ...{ known, latents, leadsTo: clip.isBounded },
    ...{ range, after },
  });
  const positions = addedBy(job);
  const added = positions.map((at) => result[clip.positions.indexOf(at)]!.slice());
  for (const [i, at] of positions.entries()) timeline.frames[at] = added[i];
  // Where a clip leads to a known frame, its colours are given at both ends.
  if (!clip.isBounded && timeline.holdsColours) holdColoursOf(run, timeline, added);
  await context.state?.keepClip(index, { added, anchor: timeline.anchor, noise: noise.position() });
}

/** Finds the step that an earlier run was stopped behind, if it is one of a clip's. */
async function lastStepOf(
  { context, noise, progress }: GenerationRun,
  { before, total }: StepRange,
): Promise<StepState | undefined> {
  const after = await context.state?.lastStep(before, before + context.sampling.sampler.numSteps);
  if (!after) return undefined;
  await noise.goOnFrom(after.noise);
  progress.report("denoise", after.step, total, { message: `goes on after step ${after.step}` });
  return after;
}

/** Holds the colours of frames that a clip has added to those of the frames that the video begins with. */
function holdColoursOf({ context }: GenerationRun, timeline: Timeline, added: readonly Float32Array[]): void {
  const { holdColours: strength, overlap } = context.checked;
  const known = timeline.frames.slice(0, overlap).filter((frame) => frame !== undefined);
  timeline.anchor ??= coloursOf(known, latentDims(context)[1]);
  holdColours(added, { anchor: timeline.anchor, strength, overlap });
}
