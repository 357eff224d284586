import { ENCODERS } from "@vd/media";
import {
  always,
  BATCH_GROUP,
  boolean,
  booleanOrText,
  choice,
  found,
  GENERATE_GROUP,
  LOAD_GROUP,
  type OptionGroup,
  type OptionTable,
  text,
} from "@vd/svd-pipeline/options";

/** What a run works on and what it tells. */
export const RUN_TABLE = {
  image: {
    kind: text("a name"),
    doc: "The picture to animate; several, or patterns such as '*.png', make a video each; - is standard input.",
    default: found("a sample of the bundled model"),
    cli: { flags: "[IMAGE...]" },
  },
  watch: {
    kind: text("a name"),
    doc: "Makes a video of each picture that comes into a folder, until Ctrl-C.",
    cli: { flags: "--watch <DIR>", inFile: false },
  },
  last: {
    kind: text("a name"),
    doc: "The picture that the video ends with.",
    cli: { flags: "--last <IMAGE>" },
  },
  extend: {
    kind: text("a name"),
    doc: "A video to go on from, instead of a picture: the result is the video and then --frames of which the first is its last one.",
    cli: { flags: "--extend <VIDEO>" },
  },
  duration: {
    kind: text("a time such as 4s, 2.5s or 800ms", "^(\\d+\\.?\\d*|\\.\\d+)(s|ms)$"),
    doc: "How long the generated video is, instead of --frames: 4s, 2.5s, 800ms.",
    cli: { flags: "--duration <TIME>" },
  },
  model: {
    kind: text("a name"),
    doc: "A model folder, one FILE.safetensors, or a model of the Hub: owner/name, hf:owner/name, https://huggingface.co/owner/name.",
    default: found("the bundled tiny-svd"),
    cli: { flags: "-m, --model <MODEL>" },
  },
  lora: {
    kind: text("a name, or several with commas between them"),
    doc: "A LoRA and how much of it, style.safetensors:0.8; several by commas, or by the option again. A .safetensors file in the names of PEFT, diffusers or kohya, or a folder with one; it is merged into the UNet when weights are packed.",
    cli: { flags: "--lora <FILE:WEIGHT>", joins: "," },
  },
  config: {
    kind: text("a name"),
    doc: 'Reads options from a JSON file; what is typed wins. A "$schema" key in it may name the schema for editors.',
    cli: { flags: "--config <FILE>", inFile: false },
  },
  repeat: {
    kind: text("a name"),
    doc: "Makes a video again: takes all settings, with the seed, out of the file that an earlier run has written. What is typed wins.",
    cli: { flags: "--repeat <VIDEO>", inFile: false },
  },
  dryRun: {
    kind: boolean,
    doc: "Prints sizes, peak memory, work and a time estimate; makes nothing.",
    default: always(false),
    cli: { flags: "--dry-run" },
  },
  resume: {
    kind: booleanOrText,
    doc: "Goes on after a crash: keeps a state in OUTPUT.resume or FOLDER. It is on the disk whole after each step, so that the same command loses one step at most, and goes once the output is written. An output that is there without a state is finished.",
    default: always(false),
    cli: { flags: "--resume [FOLDER]" },
  },
  profile: {
    kind: text("a name"),
    doc: "Where the time goes, as a file: .html, .txt, .json, or .trace for Perfetto.",
    cli: { flags: "--profile <FILE>" },
  },
  yes: {
    kind: boolean,
    doc: "Downloads a model without asking; licence and size are shown all the same.",
    default: always(false),
    cli: { flags: "-y, --yes" },
  },
  json: {
    kind: boolean,
    doc: "One JSON object per line on standard output, nothing else there.",
    default: always(false),
    cli: { flags: "--json" },
  },
  quiet: {
    kind: boolean,
    doc: "No progress, no summary; warnings and errors only.",
    default: always(false),
    cli: { flags: "-q, --quiet" },
  },
} as const satisfies OptionTable;

/** What becomes of the video. */
export const OUTPUT_TABLE = {
  output: {
    kind: text("a name"),
    doc: "Where the video goes: .mp4, .webm, .gif, .webp, frame-%03d.png, or a folder/ for PNG frames; {name} stands for the picture's name, - for standard output (MP4, or as in -.gif).",
    default: always("out.mp4"),
    cli: { flags: "-o, --output <FILE>" },
  },
  overwrite: {
    kind: boolean,
    doc: "Replaces the output if it is there. Otherwise the run stops before any work.",
    default: always(true),
    cli: {
      flags: "--overwrite",
      off: { flag: "--no-overwrite", doc: "Stops, before any work, if the output is there." },
    },
  },
  metadata: {
    kind: boolean,
    doc: "Keeps the seed and all settings in the file, for --repeat.",
    default: always(true),
    cli: {
      flags: "--metadata",
      off: { flag: "--no-metadata", doc: "Leaves the seed and the settings out of the file." },
    },
  },
  open: {
    kind: boolean,
    doc: "Opens the video when it is done, with the program that the desktop has for it.",
    default: always(false),
    cli: { flags: "--open" },
  },
  encoder: {
    kind: choice(ENCODERS, "EncoderChoice"),
    doc: "What makes .mp4 and .webm files: builtin, ffmpeg (must be on the PATH) or auto, which is builtin.",
    default: always(ENCODERS[0]),
    cli: { flags: "--encoder <NAME>" },
  },
  preview: {
    kind: booleanOrText,
    doc: "Keeps a preview picture up to date while it works: OUTPUT.preview.webp, or a FILE that ends in .webp, .gif or .png.",
    default: always(false),
    cli: { flags: "--preview [FILE]" },
  },
} as const satisfies OptionTable;

/** All options of the command line, in the order of its help. */
export const GROUPS: readonly OptionGroup[] = [
  {
    title: "Run",
    intro: "What a run of `vd-generate` works on and what it tells.",
    table: RUN_TABLE,
    isApp: true,
  },
  GENERATE_GROUP,
  BATCH_GROUP,
  LOAD_GROUP,
  {
    title: "Output",
    intro: "What becomes of the video that `vd-generate` makes.",
    table: OUTPUT_TABLE,
    isApp: true,
  },
];
