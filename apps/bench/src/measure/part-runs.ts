import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import type { Reporter } from "../io/reporter";
import { relativeL2 } from "../stats/summary";
import {
  type Contender,
  type OurContender,
  ourContender,
  type PartFiles,
  peerContender,
  peerName,
  readOutput,
  reasonOf,
} from "./contenders";
import { ourGeneration, peerGeneration } from "./e2e";
import { writeInputs } from "./inputs";
import { onnxContender, onnxGeneration } from "./onnx-contender";
import { isPythonPeer, type PeerMode, VAE_CASES } from "./options";
import { type OurPart, ourPart, type PartContext, type PlanPart, plainPart } from "./our-parts";
import type { PeerProcess } from "./peer-process";
import type { BenchFile, BenchRow } from "./report";
import { type SelfProgram, startContenders } from "./start";
import { takeTurns } from "./turns";
import { Comparison, type RecordVariant, type VaeVariant, vaeVariants } from "./vae-variants";

/** A measurement under way. */
export interface Session {
  context: PartContext;
  file: BenchFile;
  work: string;
  image: string;
  reporter: Reporter;
  signal: AbortSignal;
  self: SelfProgram;
  peer: PeerProcess | undefined;
  modes: readonly PeerMode[];
  /** Contenders that were not asked for by name. */
  leftOut: Set<string>;
  /** Why there is no peer. */
  missing?: string;
  /** Writes what stands to the disk. */
  save(): Promise<void>;
}

/** Whether a case of autoencoders is to be measured, or a part that is none. */
export const hasCase = ({ cases }: PartContext["options"], name: string): boolean =>
  cases === undefined || !(VAE_CASES as readonly string[]).includes(name) || cases.includes(name);

type Attempt<T> = { value: T } | { reason: string };

/**
 * What `body` gives, or why it gives nothing.
 *
 * @throws the signal's reason
 */
export async function attempt<T>(
  { signal, reporter }: Session,
  what: string,
  body: () => Promise<T>,
): Promise<Attempt<T>> {
  reporter.note(`  ${what}`);
  try {
    return { value: await body() };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    reporter.note(`  ${what}: ${reasonOf(error)}`);
    return { reason: reasonOf(error) };
  }
}

/** Names a part with the sizes that it was run at. */
function caseName(part: PlanPart | "e2e" | "start", { options }: PartContext): string {
  const { numFrames, width, height, steps, distilled } = options;
  if (part === "clip") return "1 picture";
  if (part === "encode") return `${width}x${height}`;
  if (part === "unet") return `2x${numFrames} frames ${width}x${height}`;
  const frames = `${numFrames} frames ${width}x${height}`;
  return part === "e2e" ? `${frames} ${steps} steps${distilled ? ", distilled" : ""}` : frames;
}

/** Contenders that are ready, and rows of those that are not. */
class Field {
  readonly ready: Contender[] = [];
  readonly rows: BenchRow[] = [];

  constructor(
    readonly suite: string,
    readonly name: string,
  ) {}

  add(contender: string, attempted: Attempt<Contender>): void {
    if ("value" in attempted) this.ready.push(attempted.value);
    else this.rows.push({ suite: this.suite, name: this.name, contender, reason: attempted.reason });
  }
}

/** Lets a field's contenders take turns and adds all rows to the file, ours first. */
async function race(session: Session, field: Field, rounds: number, repeats: number): Promise<void> {
  const { file, reporter, signal } = session;
  const { suite, name } = field;
  const { limitSeconds } = session.context.options;
  const limitMs = limitSeconds === undefined ? undefined : 1000 * limitSeconds;
  const onTurn = (done: number, total: number) => reporter.progress(`  ${suite}`, done, total);
  const timed = await takeTurns(field.ready, { suite, name, rounds, repeats, limitMs, signal, onTurn });
  file.rows.push(...timed, ...field.rows);
}

/**
 * Loads a contender for a field, unless others are asked for; alone it is timed and let go of at once, and its row is on the disk.
 * load: with what stops it and its runs. stop: ends what runs in another program, which nothing else does. Returns it, also where it is let go of, if it could be loaded.
 */
async function enter<C extends Contender>(
  session: Session,
  field: Field,
  contender: string,
  load: (signal: AbortSignal) => Promise<C>,
  stop?: (why: string) => void,
): Promise<C | undefined> {
  const { context, signal } = session;
  const { alone, limitSeconds, contenders, rounds, repeats } = context.options;
  if (contenders && !contenders.includes(contender)) {
    session.leftOut.add(contender);
    return undefined;
  }
  if (!alone) {
    const made = await attempt(session, contender, () => load(signal));
    field.add(contender, made);
    return "value" in made ? made.value : undefined;
  }
  const late = new AbortController();
  const message = `more than ${limitSeconds} s, loading included`;
  const timer = setTimeout(
    () => {
      late.abort(new Error(message));
      stop?.(message);
    },
    1000 * (limitSeconds ?? NO_LIMIT_SECONDS),
  );
  const own = new Field(field.suite, field.name);
  try {
    const made = await attempt(session, contender, () => load(AbortSignal.any([signal, late.signal])));
    own.add(contender, late.signal.aborted && !("value" in made) ? { reason: message } : made);
    await race(session, own, rounds, repeats);
    return "value" in made ? made.value : undefined;
  } finally {
    clearTimeout(timer);
    await context.device.trim();
    await session.save();
  }
}

/** Longer than anything is measured; timers take no more than 24 days. */
const NO_LIMIT_SECONDS = 1e6;

/** TensorRT runs as a stage of the pipeline, with our own stages around it. */
const endToEndOnly = (part: PlanPart) =>
  new VdError({
    code: "unsupported",
    where: "tensorrt",
    expected: "the part e2e",
    got: `${part}: measured end to end only`,
  });

/** Why a peer's row has no figures when there is no peer at all. */
const absent = (session: Session): Attempt<never> => ({ reason: session.missing ?? "not asked for" });

/** Loads a peer, if the program that runs it is there. */
async function attemptPeer(
  session: Session,
  mode: PeerMode,
  load: () => Promise<Contender>,
): Promise<Attempt<Contender>> {
  const isThere = !isPythonPeer(mode) || session.peer !== undefined;
  return isThere ? attempt(session, peerName(mode), load) : absent(session);
}

/** Enters a peer into a field, if the program that runs it is there. */
async function enterPeer(
  session: Session,
  field: Field,
  mode: PeerMode,
  load: () => Promise<Contender>,
): Promise<void> {
  const name = peerName(mode);
  const { peer } = session;
  const stop = (why: string) => {
    peer?.stop();
    Object.assign(session, { peer: undefined, missing: `${name} took ${why}` });
  };
  if (!isPythonPeer(mode)) await enter(session, field, name, load);
  else if (peer !== undefined) await enter(session, field, name, load, stop);
  else field.add(name, absent(session));
}

/** The float32 result of the peer. */
async function referenceOf(session: Session, part: PlanPart, inputs: string): Promise<Float32Array | undefined> {
  const { peer, work, context } = session;
  if (!peer || !context.options.reference) return undefined;
  const path = join(work, `${part}.reference.safetensors`);
  const made = await attempt(session, "float32 reference", async () => {
    await peer.request("reference", { part, inputs, path });
    return readOutput(path);
  });
  return "value" in made ? made.value : undefined;
}

/** Loads our plans: launched row by row and, on a GPU, as one graph as well. */
async function addOurs(
  session: Session,
  field: Field,
  ours: OurPart,
  reference: Float32Array | undefined,
): Promise<Float32Array | undefined> {
  const { context, file } = session;
  const captures = context.device.kind === "cuda" ? [false, true] : [false];
  let first: OurContender | undefined;
  for (const capture of captures) {
    const name = capture ? "ours-graph" : "ours";
    const made = await enter(session, field, name, async (signal) => {
      const loaded = await ourContender(context.device, ours, { capture, signal });
      if (reference) loaded.facts.error = relativeL2(loaded.output, reference);
      return loaded;
    });
    if (!made) continue;
    const { output, table } = made;
    if (!capture) file.tables[field.suite] = table;
    if (first && relativeL2(output, first.output) !== 0)
      file.notes.push(`${field.suite}: the graph's result differs from the launched rows'.`);
    first ??= made;
  }
  return first?.output;
}

/** Measures a part that is one plan, and gives the peer's memory back. Returns the result that others are compared with, if there is one. */
export async function measurePart(session: Session, part: PlanPart): Promise<Float32Array | undefined> {
  const { context, work, modes } = session;
  const { options } = context;
  const field = new Field(part, caseName(part, context));
  const files: PartFiles = { inputs: join(work, `${part}.safetensors`), output: join(work, `${part}.out.safetensors`) };
  const ours = await attempt(session, "inputs", async () => {
    const made = await ourPart(context, part);
    await writeInputs(files.inputs, made.inputs);
    return made;
  });
  if ("reason" in ours) {
    session.file.rows.push({ suite: part, name: field.name, contender: "ours", reason: ours.reason });
    return undefined;
  }
  const reference = await referenceOf(session, part, files.inputs);
  const output = await addOurs(session, field, ours.value, reference);
  for (const mode of modes) {
    const load = () => {
      if (mode === "tensorrt") throw endToEndOnly(part);
      if (mode === "onnxruntime") return onnxContender(options, ours.value, work, reference ?? output);
      return peerContender(session.peer!, part, mode, files, reference);
    };
    await enterPeer(session, field, mode, load);
  }
  await race(session, field, options.rounds, options.repeats);
  await session.peer?.request("release", { part }).catch(() => undefined);
  await context.device.trim();
  return reference ?? output;
}

/** Loads variants, those that can be loaded, and lets them take turns. */
export async function caseTurns(
  session: Session,
  { suite, name }: { suite: string; name: string },
  variants: readonly VaeVariant[],
): Promise<void> {
  const { rounds, repeats } = session.context.options;
  const field = new Field(suite, name);
  for (const { name: contender, load, stop } of variants) await enter(session, field, contender, load, stop);
  await race(session, field, rounds, repeats);
}

/** Measures what the autoencoder's optimisations gain, each step beside the plain path. */
export function measureSwitches(
  session: Session,
  part: "vae" | "encode",
  reference: Float32Array | undefined,
): Promise<void> {
  const { context } = session;
  const record: RecordVariant = (dtype, rewrite) => plainPart({ ...context, dtype }, part, rewrite);
  const variants = vaeVariants({ device: context.device, record, comparison: new Comparison(reference) });
  return caseTurns(session, { suite: `${part}-switches`, name: caseName(part, context) }, variants);
}

/** Measures a picture file to frames. */
export async function measureGeneration(session: Session): Promise<void> {
  const { context, peer, modes, image, signal } = session;
  const { options, device } = context;
  const field = new Field("e2e", caseName("e2e", context));
  const ours = await attempt(session, "ours", () => ourGeneration(device, options, image, signal));
  field.add("ours", ours);
  // Frames of a short run, for the difference of those that begin with the same noise.
  const frames = "value" in ours ? ours.value.frames : undefined;
  for (const mode of modes) {
    const load = (): Promise<Contender> => {
      if (mode === "tensorrt")
        return ourGeneration(device, options, image, signal, { name: peerName(mode), denoiser: "tensorrt", frames });
      if (mode === "onnxruntime") return onnxGeneration(options, image, session.work, frames);
      return peerGeneration(peer!, mode, options, image);
    };
    field.add(peerName(mode), await attemptPeer(session, mode, load));
  }
  await race(session, field, options.e2eRounds, 1);
}

/** Measures fresh processes from their start to the denoiser's first call. */
export async function measureStart(session: Session): Promise<void> {
  const { context, self, image, signal, missing } = session;
  const { options } = context;
  const field = new Field("start", caseName("start", context));
  // Without a peer its second process would fail like the first.
  const modes = options.peers.filter(isPythonPeer);
  const peers = missing === undefined ? modes : [];
  field.ready.push(...startContenders(self, { ...options, peers }, image, signal));
  if (missing !== undefined && modes.length > 0) field.add(peerName("eager"), absent(session));
  await race(session, field, options.e2eRounds, 1);
}
