import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { serialize } from "node:v8";
import { VdError } from "@vd/kernels-native";
import { type Pausable, runInSlices } from "@vd/tensor";
import { modelDigest } from "../../opening/model-digest";
import { GENERATE_TABLE } from "../../options/generate-table";
import type { OptionTable } from "../../options/option";
import type { GenerationContext } from "../context";
import { loadFittedPicture, type Picture } from "../encode-picture";
import { clipsOf } from "../steering/clips-of";

/** What decides the bits of a generation: names as people know them, values as texts. */
export type Facts = Readonly<Record<string, string>>;

/** Options that change no bit of what a state holds, or whose effect is in another fact. */
const NEUTRAL = new Set([
  ...["image", "lastImage", "pastFrames", "latents", "autoSize", "memory", "decodeChunk", "outputType", "previewEvery"],
  ...["resume", "keepState", "signal", "profiler", "onProgress", "onPreview", "onFrames", "onWarning"],
]);

/** The fact of how many clips a longer video has. */
export const CLIPS = "clips";

function numClipsOf(context: GenerationContext): string | undefined {
  if (context.shape.clipFrames === undefined) return undefined;
  const { clips, between } = clipsOf(context);
  return String(clips.length + between.length);
}

/** Bytes between two pauses of a checksum. */
const PIECE_BYTES = 1 << 18;

function* digestOf(bytes: Uint8Array): Pausable<string> {
  const hash = createHash("sha256");
  for (let begin = 0; begin < bytes.length; begin += PIECE_BYTES) {
    hash.update(bytes.subarray(begin, begin + PIECE_BYTES));
    yield;
  }
  return hash.digest("hex");
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) => new Uint8Array(buffer, byteOffset, byteLength);

/** Returns the checksum of a picture's pixels. */
export function pictureDigest({ data }: Picture): Promise<string> {
  return runInSlices(digestOf(data instanceof Float32Array ? bytesOf(data) : data));
}

/** The version of this package; its numbers may change with it. */
function packageVersion(): string {
  try {
    const { version } = createRequire(import.meta.url)("@vd/svd-pipeline/package.json") as { version: string };
    return version;
  } catch {
    return "unknown"; // A program that is bundled into one file has no package.
  }
}

/**
 * The options that decide bits, by name: all that a table has, so that a new option counts unless it is known not to.
 *
 * @throws VdError `unsupported` for an option whose value cannot be compared with that of another run
 */
function optionFacts({ checked, options }: GenerationContext): Record<string, string> {
  const facts: Record<string, string> = {};
  for (const [name, { kind }] of Object.entries(GENERATE_TABLE as OptionTable)) {
    if (NEUTRAL.has(name) && !(name === "decodeChunk" && checked.isolateDecodeChunks)) continue;
    const value =
      kind.kind === "object"
        ? (options as unknown as Record<string, unknown>)[name]
        : checked[name as keyof typeof checked];
    if (value === undefined) continue;
    if (kind.kind !== "object") facts[name] = String(value);
    else if (typeof value === "function") facts[name] = "a function";
    else facts[name] = objectFact(name, value);
  }
  return facts;
}

function objectFact(name: string, value: unknown): string {
  try {
    return createHash("sha256").update(serialize(value)).digest("hex");
  } catch (cause) {
    const [expected, got] = ["an option that can be compared with that of another run", typeof value];
    throw new VdError({ code: "unsupported", where: `${name}] [resume`, expected, got, cause });
  }
}

/** Checksums of the pictures that are given beside the first one. */
async function furtherPictures(context: GenerationContext): Promise<Record<string, string | undefined>> {
  const { lastImage, pastFrames = [] } = context.options;
  const before = createHash("sha256");
  for (const frame of pastFrames) before.update(await pictureDigest(await loadFittedPicture(context, frame)));
  return {
    "last picture":
      lastImage === undefined ? undefined : await pictureDigest(await loadFittedPicture(context, lastImage)),
    "frames before": pastFrames.length === 0 ? undefined : before.digest("hex"),
  };
}

/** Returns everything that decides a generation's bits. picture: its checksum, from {@link pictureDigest}. */
export async function factsOf(context: GenerationContext, picture: string): Promise<Facts> {
  const { device, denoiser, precision, components, options, shared } = context;
  const { isa, math, name } = denoiser?.kind === "own" ? denoiser.device : device;
  const latents = options.latents && (await runInSlices(digestOf(bytesOf(options.latents))));
  const part = shared && shared.part.count > 1 ? `${shared.part.index + 1} of ${shared.part.count}` : undefined;
  const facts: Record<string, string | undefined> = {
    "version of @vd/svd-pipeline": packageVersion(),
    device: [name, isa, math === "exact" ? undefined : math].filter(Boolean).join(", "),
    denoiser: denoiser?.kind === "elsewhere" ? denoiser.factory.name : "own kernels",
    precision,
    "8-bit layers": context.eightBits?.digest,
    convolutions: context.shape.convolutions,
    model: await modelDigest(components),
    LoRAs: components.loras
      ?.map(({ path, weight, sha256 }) => `${basename(path)}:${weight} (${sha256.slice(0, 8)})`)
      .join(", "),
    picture,
    ...(await furtherPictures(context)),
    latents,
    "part of the seed's noise": part,
    [CLIPS]: numClipsOf(context),
    ...optionFacts(context),
  };
  return Object.fromEntries(Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined));
}

const isDigest = (text: string) => /^[0-9a-f]{64}$/.test(text);

/** Says what differs between a state's facts and those of now, such as `steps 25, not 30; another picture`; undefined where nothing
 *  does. */
export function differences(state: Facts, now: Facts): string | undefined {
  const names = [...new Set([...Object.keys(state), ...Object.keys(now)])];
  const different = names.filter((name) => state[name] !== now[name]);
  if (different.length === 0) return undefined;
  return different.map((name) => difference(name, state[name], now[name])).join("; ");
}

function difference(name: string, before: string | undefined, now: string | undefined): string {
  if (before === undefined) return `${name} where there was none`;
  if (now === undefined) return `no ${name}`;
  return isDigest(before) && isDigest(now) ? `another ${name}` : `${name} ${now}, not ${before}`;
}

/** Returns the checksum of facts: which generation a record belongs to. */
export function factsDigest(facts: Facts): string {
  const sorted = Object.entries(facts).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex");
}
