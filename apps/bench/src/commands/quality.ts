import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { requireFolder } from "@vd/tensor";
import type { Command } from "commander";
import { testPicture } from "../io/pictures";
import {
  ownOption,
  readDevice,
  readFrameSize,
  readFrames,
  readNumber,
  readPrecision,
  readSteps,
  readThreads,
} from "../options/command-options";
import { type ComparedRun, compareSavings, SAVINGS } from "../quality/compare-variants";
import type { CommandContext } from "../run";
import { bundledModel, type Texts, textOf, withGenerateOptions } from "./common";

const HEADER = ["savings", "calls", "denoise s", "times", "PSNR dB", "SSIM", "latents' distance"];

/** `featureInterval 2`, or `exact`. */
const nameOf = ({ savings }: ComparedRun): string =>
  Object.entries(savings)
    .map(([name, value]) => (value === true ? name : `${name} ${value}`))
    .join(", ") || "exact";

/** `5 full, 5 skipped`. */
const callsOf = ({ calls }: ComparedRun): string =>
  Object.entries(calls)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind.replace(",", "")}`)
    .join(", ");

/** The runs as a Markdown table. */
function qualityTable(runs: readonly ComparedRun[]): string {
  const rows = runs.map((run) => [
    ...[nameOf(run), callsOf(run), (run.denoiseUs / 1e6).toFixed(3), run.speedup.toFixed(2)],
    ...[Number.isFinite(run.psnr) ? run.psnr.toFixed(1) : "same", run.ssim.toFixed(4), run.latentDistance.toFixed(4)],
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(HEADER), line(HEADER.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The picture: a named one, the bundled model's sample, or one that is made. */
function pictureOf(texts: Texts, model: string, size: { width: number; height: number }) {
  const image = textOf(texts, "image");
  if (image !== undefined) return image;
  return texts.model === undefined ? `${model}/samples/one-ball.png` : testPicture(size.width, size.height);
}

/** `vd-bench quality`: what each way to save calls of the denoiser gains, and what it does to the video. */
export function addQuality(program: Command, { reporter, signal, stdout }: CommandContext): void {
  withGenerateOptions(program.command("quality"))
    .description("videos of each way to save calls of the denoiser beside the exact one: time, PSNR, SSIM, latents")
    .addOption(ownOption("rounds", "1"))
    .addOption(ownOption("inputSeed"))
    .addOption(ownOption("json"))
    .action(async (texts: Texts) => {
      const json = textOf(texts, "json");
      if (json !== undefined) await requireFolder(dirname(json), "--json");
      const device = readDevice(String(texts.device));
      const model = textOf(texts, "model") ?? bundledModel();
      const rounds = readNumber("rounds", String(texts.rounds));
      const seed = readNumber("inputSeed", String(texts.seed));
      const [frames, size, steps] = ["frames", "size", "steps"].map((name) => textOf(texts, name));
      const load = {
        device,
        dtype: readPrecision(textOf(texts, "dtype"), device),
        threads: readThreads(textOf(texts, "threads")),
      };
      const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { ...load, signal });
      try {
        const own = pipeline.defaults;
        const { width, height } = size === undefined ? own : readFrameSize(size);
        const options = {
          ...{ width, height, seed, signal, image: pictureOf(texts, model, { width, height }) },
          numFrames: frames === undefined ? own.numFrames : readFrames(frames),
          steps: steps === undefined ? own.steps : readSteps(steps),
        };
        const onProgress = (done: number, total: number) => reporter.progress("videos", done, total);
        const runs = await compareSavings(pipeline, options, SAVINGS, { rounds, onProgress });
        stdout.write(`${qualityTable(runs)}\n`);
        const { image: _, signal: __, ...settings } = options;
        if (json !== undefined)
          await writeFile(json, `${JSON.stringify({ model, ...load, ...settings, runs }, undefined, 2)}\n`);
      } finally {
        pipeline.dispose();
      }
    });
}
