import type { EncoderChoice } from "@vd/media";
import type { Device, GuidanceShape, MemoryUse } from "../settings";
import { choice, decimal, floatType, guidanceRange, integer, seed, size, text } from "./values";

/** The pipeline takes no more. */
const MAX_FRAMES = 4096;

/** One option: how it is written, what the help says, how its text is read. */
export interface OptionRow {
  /** Commander's notation: `-o, --output <FILE>`; without `<...>` it is a switch. */
  flags: string;
  help: string;
  /** Absent for switches. */
  parse?: (text: string, where: string) => unknown;
}

/** Every option that takes a value, by its name in {@link Settings}. */
export const VALUE_OPTIONS = {
  output: {
    flags: "-o, --output <FILE>",
    help: "where the video goes: .mp4, .webm, .gif, .webp, frame-%03d.png, or a folder/ for PNG frames (out.mp4)",
    parse: text,
  },
  model: {
    flags: "-m, --model <MODEL>",
    help: "a model folder, a hub id (owner/name) or one FILE.safetensors (the bundled tiny-svd)",
    parse: text,
  },
  numFrames: { flags: "--frames <N>", help: "number of frames (the model's own)", parse: integer(1, MAX_FRAMES) },
  steps: { flags: "--steps <N>", help: "number of denoising steps (25)", parse: integer(1, 10_000) },
  size: { flags: "--size <WxH>", help: "frame size, multiples of 8 (the model's own)", parse: size },
  fps: { flags: "--fps <N>", help: "frames per second, told to the model and to the file (7)", parse: integer(1, 120) },
  motionBucketId: { flags: "--motion <N>", help: "how much moves, 1 to 255 advised (127)", parse: integer(0, 1000) },
  noiseAugStrength: {
    flags: "--noise-aug <X>",
    help: "noise added to the picture; more means freer motion (0.02)",
    parse: decimal(0, 100),
  },
  guidanceRange: {
    flags: "--guidance <MIN:MAX>",
    help: "guidance scale over the frames; 1:1 turns it off (1:3, tiny-svd 1:2)",
    parse: guidanceRange,
  },
  guidanceShape: {
    flags: "--guidance-shape <SHAPE>",
    help: "linear: MIN to MAX; triangle: MIN to MAX and back (linear)",
    parse: choice<GuidanceShape>("linear", "triangle"),
  },
  sampler: { flags: "--sampler <NAME>", help: "sampler; a wrong name lists them (the model's own)", parse: text },
  seed: {
    flags: "--seed <N>",
    help: "0 to 2^64 - 1; the same seed gives the same video (random, printed)",
    parse: seed,
  },
  device: { flags: "--device <NAME>", help: "cpu or cuda (cpu)", parse: choice<Device>("cpu", "cuda") },
  dtype: { flags: "--dtype <NAME>", help: "float32, float16 or bfloat16 (float32)", parse: floatType },
  decodeChunk: {
    flags: "--decode-chunk <N>",
    help: "frames decoded at once: less memory, same frames",
    parse: integer(1, MAX_FRAMES),
  },
  memory: {
    flags: "--memory <USE>",
    help: "of a GPU: full, or low for small cards, the same frames more slowly (full)",
    parse: choice<MemoryUse>("full", "low"),
  },
  threads: { flags: "--threads <N>", help: "CPU threads (all cores)", parse: integer(1, 1024) },
  encoder: {
    flags: "--encoder <NAME>",
    help: "of .mp4 files: builtin, ffmpeg (libx264, must be on the PATH) or auto, which is builtin (auto)",
    parse: choice<EncoderChoice>("auto", "builtin", "ffmpeg"),
  },
  profile: {
    flags: "--profile <FILE>",
    help: "where the time goes: .html, .txt, .json, or .trace for Perfetto",
    parse: text,
  },
  preview: {
    flags: "--preview [FILE]",
    help: "keep a preview picture up to date while it works (OUTPUT.preview.webp; or .png, .gif)",
    parse: (value: string) => value || true,
  },
} satisfies Record<string, OptionRow>;

/** Every switch, by its name in {@link Settings}. */
export const SWITCHES = {
  json: { flags: "--json", help: "one JSON object per line on standard output, nothing else there" },
  quiet: { flags: "-q, --quiet", help: "no progress, no summary; warnings and errors only" },
  dryRun: { flags: "--dry-run", help: "print sizes, peak memory, work and a time estimate; make nothing" },
  overwrite: { flags: "--overwrite", help: "replace the output if it is there (default)" },
  noOverwrite: { flags: "--no-overwrite", help: "stop, before any work, if the output is there" },
} satisfies Record<string, OptionRow>;

/** @returns the long name of an option: `--frames` of `--frames <N>`. */
export function longFlag(row: OptionRow): string {
  return /--[a-z-]+/.exec(row.flags)![0];
}
