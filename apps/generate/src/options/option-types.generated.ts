// Generated from options/tables.ts by tooling/generate/options. Do not edit.
import type { EncoderChoice } from "./value-types";

/** What becomes of the video, with all defaults. */
export interface OutputSettings {
  /** Where the video goes: .mp4, .webm, .gif, .webp, frame-%03d.png, or a folder/ for PNG frames; {name} stands for
   *  the picture's name, - for standard output (MP4, or as in -.gif). Default: out.mp4. */
  output: string;
  /** Replaces the output if it is there. Otherwise the run stops before any work. Default: true. */
  overwrite: boolean;
  /** Keeps the seed and all settings in the file, for --repeat. Default: true. */
  metadata: boolean;
  /** Opens the video when it is done, with the program that the desktop has for it. Default: false. */
  open: boolean;
  /** What makes .mp4 and .webm files: builtin, ffmpeg (must be on the PATH) or auto, which is builtin. Default:
   *  auto. */
  encoder: EncoderChoice;
  /** Keeps a preview picture up to date while it works: OUTPUT.preview.webp, or a FILE that ends in .webp, .gif or
   *  .png. Default: false. */
  preview: boolean | string;
}

/** What one run works on and what it tells, with all defaults. */
export interface RunSettings {
  /** The picture to animate; several, or patterns such as '*.png', make a video each; - is standard input. Default:
   *  a sample of the bundled model. */
  image: string | undefined;
  /** Makes a video of each picture that comes into a folder, until Ctrl-C. */
  watch: string | undefined;
  /** The picture that the video ends with. */
  last: string | undefined;
  /** A video to go on from, instead of a picture: the result is the video and then --frames of which the first is
   *  its last one. */
  extend: string | undefined;
  /** How long the generated video is, instead of --frames: 4s, 2.5s, 800ms. */
  duration: string | undefined;
  /** A model folder, one FILE.safetensors, or a model of the Hub: owner/name, hf:owner/name,
   *  https://huggingface.co/owner/name. Default: the bundled tiny-svd. */
  model: string | undefined;
  /** A LoRA and how much of it, style.safetensors:0.8; several by commas, or by the option again. A .safetensors
   *  file in the names of PEFT, diffusers or kohya, or a folder with one; it is merged into the UNet when weights
   *  are packed. */
  lora: string | undefined;
  /** Reads options from a JSON file; what is typed wins. A "$schema" key in it may name the schema for editors. */
  config: string | undefined;
  /** Makes a video again: takes all settings, with the seed, out of the file that an earlier run has written. What
   *  is typed wins. */
  repeat: string | undefined;
  /** Prints sizes, peak memory, work and a time estimate; makes nothing. Default: false. */
  dryRun: boolean;
  /** Goes on after a crash: keeps a state in OUTPUT.resume or FOLDER. It is on the disk whole after each step, so
   *  that the same command loses one step at most, and goes once the output is written. An output that is there
   *  without a state is finished. Default: false. */
  resume: boolean | string;
  /** Where the time goes, as a file: .html, .txt, .json, or .trace for Perfetto. */
  profile: string | undefined;
  /** Downloads a model without asking; licence and size are shown all the same. Default: false. */
  yes: boolean;
  /** One JSON object per line on standard output, nothing else there. Default: false. */
  json: boolean;
  /** No progress, no summary; warnings and errors only. Default: false. */
  quiet: boolean;
}
