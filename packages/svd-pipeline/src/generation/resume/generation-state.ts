import type { DType } from "@vd/kernels-native";
import { PATH, requireArgument } from "@vd/kernels-native";
import type { KeptMaps, MapBehind, MapSize, TileChoice } from "@vd/vae-opt";
import type { StepperMemory } from "../../denoising/stepper-memory";
import { warnProcess } from "../../opening/warnings";
import type { GenerateOptions } from "../../types";
import type { GenerationContext } from "../context";
import type { EncodedPicture } from "../encode-picture";
import type { NoisePosition } from "../noise";
import type { ChannelColours } from "../steering/hold-colours";
import type { DecodedFrames } from "../video";
import { CLIPS, factsOf } from "./facts";
import { floatsOf, type StateRecord, type StoredTensor, storedFloats } from "./record";
import { readStateHead, StateFolder, type StateListener } from "./state-folder";

/** Where a generation stands between two steps. */
export interface StepState {
  /** Finished steps, those of all clips of a longer video together. */
  step: number;
  /** The model's call that comes next. */
  nextCall: number;
  memory: StepperMemory;
  noise: NoisePosition;
}

/** A finished clip of a longer video. */
export interface FinishedClip {
  /** The clean latents of the frames that it added, [C,h,w] each. */
  added: readonly Float32Array[];
  /** The colours that the video is held to. */
  anchor: readonly ChannelColours[] | undefined;
  noise: NoisePosition;
}

const PICTURE = "picture";
const LATENTS = "latents";
const MAPS = "maps";
const STEP = "step-";
/** Steps that are kept: the last one, and one before it in case that is damaged. */
const NUM_KEPT = 2;

const stepName = (step: number) => `${STEP}${String(step).padStart(4, "0")}`;
const numberOf = (stepRecord: string) => Number(stepRecord.slice(STEP.length));
const stepsOf = (names: readonly string[]) =>
  names.filter((name) => name.startsWith(STEP)).sort((a, b) => numberOf(a) - numberOf(b));
const clipName = (index: number) => `clip-${String(index).padStart(4, "0")}`;
const framesName = (begin: number) => `frames-${String(begin).padStart(4, "0")}`;

/** The state of a generation on the disk: each part is written whole when it is finished, and read instead of being computed again. */
export class GenerationState {
  private constructor(private readonly folder: StateFolder) {}

  /**
   * Takes the state in a folder. tell: hears of damaged and unwritten parts.
   *
   * @throws VdError `io` where another generation works on it, or for a folder that cannot be used
   */
  static async open(dir: string, tell: StateListener, signal?: AbortSignal): Promise<GenerationState> {
    return new GenerationState(await StateFolder.open(dir, tell, signal));
  }

  /** The seed of the generation that was begun; undefined for a new one. */
  get seed(): bigint | undefined {
    return seedOf(this.folder.facts);
  }

  /**
   * Begins or goes on. picture: the checksum of its pixels.
   *
   * @throws VdError `attr` naming what differs from the generation whose state this is
   */
  async begin(context: GenerationContext, picture: string): Promise<void> {
    await this.folder.begin(await factsOf(context, picture));
  }

  /** Reads what the models made of the picture, if that is finished. */
  async picture(): Promise<EncodedPicture | undefined> {
    const record = await this.folder.read(PICTURE);
    return record && { embedding: floatsOf(record, "embedding"), latents: floatsOf(record, "latents") };
  }

  async keepPicture({ embedding, latents }: EncodedPicture): Promise<void> {
    const tensors = { embedding: storedFloats(embedding), latents: storedFloats(latents) };
    await this.folder.write(PICTURE, { texts: {}, tensors });
  }

  /** Reads the last step that can be used; undefined where there is none. Only steps beyond `after` and up to `upTo`, those of one clip. */
  async lastStep(after = 0, upTo = Infinity): Promise<StepState | undefined> {
    for (const name of stepsOf(await this.folder.names()).reverse()) {
      if (numberOf(name) <= after || numberOf(name) > upTo) continue;
      const record = await this.folder.read(name);
      if (record) return stepOf(record);
    }
    return undefined;
  }

  /** Keeps a step; earlier ones go, but for the one before it. */
  async keepStep(state: StepState): Promise<void> {
    if (!(await this.folder.write(stepName(state.step), recordOf(state)))) return;
    await this.folder.remove(stepsOf(await this.folder.names()).slice(0, -NUM_KEPT));
  }

  /** Reads a clip of a longer video, if it is finished. index: among all clips, from 0. */
  async clip(index: number): Promise<FinishedClip | undefined> {
    const record = await this.folder.read(clipName(index));
    if (!record) return undefined;
    const { numFrames, anchor, philoxOffset } = JSON.parse(record.texts.clip!) as ClipTexts;
    const latents = floatsOf(record, "latents");
    const length = latents.length / Math.max(numFrames, 1);
    const added = Array.from({ length: numFrames }, (_, i) => latents.slice(i * length, (i + 1) * length));
    return { added, anchor, noise: { engine: engineOf(record), philoxOffset } };
  }

  async keepClip(index: number, { added, anchor, noise }: FinishedClip): Promise<void> {
    const latents = new Float32Array(added.reduce((sum, frame) => sum + frame.length, 0));
    added.forEach((frame, i) => void latents.set(frame, i * frame.length));
    const texts: ClipTexts = { numFrames: added.length, anchor, philoxOffset: noise.philoxOffset };
    const tensors = { latents: storedFloats(latents), engine: storedEngine(noise) };
    await this.folder.write(clipName(index), { texts: { clip: JSON.stringify(texts) }, tensors });
  }

  /** Reads the clean latents, [F,C,h,w], if all steps are finished. */
  async latents(): Promise<Float32Array | undefined> {
    const record = await this.folder.read(LATENTS);
    return record && floatsOf(record, "latents");
  }

  async keepLatents(latents: Float32Array): Promise<void> {
    await this.folder.write(LATENTS, { texts: {}, tensors: { latents: storedFloats(latents) } });
  }

  /** Reads frames that were decoded together. begin: the first of them. */
  async frames(begin: number): Promise<DecodedFrames | undefined> {
    const record = await this.folder.read(framesName(begin));
    const { levels, raw } = record?.tensors ?? {};
    return levels && raw && { data: levels.bytes, raw };
  }

  async keepFrames(begin: number, { data, raw }: DecodedFrames): Promise<void> {
    const levels: StoredTensor = { dtype: "u8" satisfies DType, dims: [data.length], bytes: data };
    const size = raw.bytes.length / data.length;
    const stored: StoredTensor = { ...raw, dims: [raw.bytes.length / size] };
    await this.folder.write(framesName(begin), { texts: {}, tensors: { levels, raw: stored } });
    await this.folder.remove([MAPS]);
  }

  /** Where a decode in tiles keeps its maps; those of another choice of tiles, whose last digits differ, are not used. */
  maps(tiles: TileChoice): KeptMaps {
    const choice = JSON.stringify(tiles);
    return {
      last: async () => {
        const record = await this.folder.read(MAPS);
        return record?.texts.tiles === choice ? mapOf(record) : undefined;
      },
      keep: async (behind) => {
        await this.folder.write(MAPS, recordOfMap(behind, choice));
      },
    };
  }

  /** Lets go of the state; `removed`: and deletes it. */
  close(end: { removed: boolean }): Promise<void> {
    return this.folder.close(end);
  }
}

/** The part of a clip that is no tensor. */
interface ClipTexts {
  numFrames: number;
  anchor: readonly ChannelColours[] | undefined;
  philoxOffset: number;
}

/** The part of a step that is no tensor. */
interface StepTexts {
  step: number;
  nextCall: number;
  values: unknown;
  philoxOffset: number;
}

const frameName = (frame: number) => `frame ${frame}`;

function recordOfMap({ map, numBlocks }: MapBehind, tiles: string): StateRecord {
  const { frames, ...size } = map;
  const stored = frames.map((bytes, i): [string, StoredTensor] => [
    frameName(i),
    { dtype: "u8", dims: [bytes.length], bytes },
  ]);
  return { texts: { tiles, map: JSON.stringify({ size, numBlocks }) }, tensors: Object.fromEntries(stored) };
}

function mapOf({ texts, tensors }: StateRecord): MapBehind {
  const { size, numBlocks } = JSON.parse(texts.map!) as { size: MapSize; numBlocks: number };
  const frames = Array.from({ length: size.numFrames }, (_, i) => tensors[frameName(i)]!.bytes);
  return { map: { ...size, frames }, numBlocks };
}

const MEMORY = "memory ";

function storedEngine({ engine }: NoisePosition): StoredTensor {
  const bytes = new Uint8Array(engine.buffer, engine.byteOffset, engine.byteLength);
  return { dtype: "i32", dims: [engine.length], bytes };
}

function engineOf({ tensors }: StateRecord): Uint32Array {
  const { buffer, byteOffset, byteLength } = tensors.engine!.bytes;
  return new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

function recordOf({ step, nextCall, memory, noise }: StepState): StateRecord {
  const texts: StepTexts = { step, nextCall, values: memory.values, philoxOffset: noise.philoxOffset };
  const named = Object.entries(memory.tensors).map(([name, tensor]) => [`${MEMORY}${name}`, tensor]);
  const tensors = { ...Object.fromEntries(named), engine: storedEngine(noise) };
  return { texts: { step: JSON.stringify(texts) }, tensors };
}

function stepOf(record: StateRecord): StepState {
  const { texts, tensors } = record;
  const { step, nextCall, values, philoxOffset } = JSON.parse(texts.step!) as StepTexts;
  const memory = Object.entries(tensors).filter(([name]) => name.startsWith(MEMORY));
  return {
    ...{ step, nextCall },
    memory: {
      tensors: Object.fromEntries(memory.map(([name, tensor]) => [name.slice(MEMORY.length), tensor])),
      values,
    },
    noise: { engine: engineOf(record), philoxOffset },
  };
}

const seedOf = (facts: Readonly<Record<string, string>> | undefined) =>
  facts?.seed === undefined ? undefined : BigInt(facts.seed);

/**
 * Runs a generation with the state that its options name, if they name one, and lets go of it afterwards.
 *
 * @throws what the generation throws, and VdError `io` for a state that cannot be used
 */
export async function withState<T>(
  options: GenerateOptions,
  generate: (options: GenerateOptions, state: GenerationState | undefined) => Promise<T>,
): Promise<T> {
  if (options.resume === undefined) return generate(options, undefined);
  const { onProgress } = options;
  const tell = (message: string) => {
    if (onProgress) onProgress({ stage: "load", step: 1, steps: 1, elapsedUs: 0, message });
    else warnProcess(message);
  };
  const state = await GenerationState.open(options.resume, tell, options.signal);
  let removed = false;
  try {
    const result = await generate({ ...options, seed: options.seed ?? state.seed }, state);
    removed = options.keepState !== true;
    return result;
  } finally {
    await state.close({ removed });
  }
}

/** How far the generation has come whose state is in a folder. */
export interface ResumeState {
  /** What it was begun with. */
  seed: bigint;
  /** Finished denoising steps whose latents are there, of all clips together. */
  step: number;
  /** Of all clips together. */
  steps: number | undefined;
  /** True once all steps are taken. */
  isDenoised: boolean;
}

/**
 * Returns how far the generation has come whose state is in a folder, as `resume` names it; undefined where there is none that could be
 * gone on with. Nothing is changed, and nobody is waited for.
 *
 * @throws VdError `io` for a folder that cannot be read
 * @example
 * ```ts
 * import { resumeState } from "@vd/svd-pipeline";
 *
 * const state = await resumeState("clip.mp4.resume");
 * if (state) console.log(`seed ${state.seed}: ${state.step} of ${state.steps} steps are done`);
 * ```
 */
export async function resumeState(dir: string): Promise<ResumeState | undefined> {
  requireArgument("resumeState", dir, PATH);
  const head = await readStateHead(dir);
  const seed = seedOf(head?.facts);
  if (!head || seed === undefined) return undefined;
  const last = stepsOf(head.records).at(-1);
  const steps = head.facts.steps === undefined ? undefined : Number(head.facts.steps) * Number(head.facts[CLIPS] ?? 1);
  const isDenoised = head.records.includes(LATENTS);
  return { seed, step: last === undefined ? 0 : numberOf(last), steps, isDenoised };
}
