import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineInfo } from "@vd/app-parts";
import { VdError } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { checkPlace } from "@vd/tensor";
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
import { choices } from "../options/values";
import { comparePrecisions, EIGHT_BIT, type PrecisionRun } from "../quality/compare-precisions";
import { type ComparedRun, compareSavings, type Distance, SAVINGS } from "../quality/compare-variants";
import { withOutliers } from "../quality/outliers";
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

const distanceCells = ({ psnr, ssim, latentDistance }: Distance): string[] => [
  Number.isFinite(psnr) ? psnr.toFixed(1) : "same",
  ssim.toFixed(4),
  latentDistance.toFixed(4),
];

function markdown(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The runs as a Markdown table. */
function qualityTable(runs: readonly ComparedRun[]): string {
  const rows = runs.map((run) => [
    ...[nameOf(run), callsOf(run), (run.denoiseUs / 1e6).toFixed(3), run.speedup.toFixed(2)],
    ...distanceCells(run),
  ]);
  return markdown(HEADER, rows);
}

/** Runs with layers in 8 bits as a Markdown table. */
function precisionTable(runs: readonly PrecisionRun[]): string {
  const rows = runs.map((run) => [
    ...[run.precision, run.isCalibrated ? "calibrated" : "not calibrated", (run.denoiseUs / 1e6).toFixed(3)],
    ...distanceCells(run),
  ]);
  return markdown(["precision", "scales", "denoise s", "PSNR dB", "SSIM", "latents' distance"], rows);
}

async function writeJson(path: string | undefined, results: object): Promise<void> {
  if (path !== undefined) await writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`);
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
    .description(
      "videos of each way to save calls of the denoiser, or to compute layers in 8 bits, beside the exact one: time, PSNR, SSIM, latents",
    )
    .addOption(ownOption("rounds", "1"))
    .addOption(ownOption("inputSeed"))
    .addOption(ownOption("precisions"))
    .addOption(ownOption("outliers"))
    .addOption(ownOption("json"))
    .action(async (texts: Texts) => {
      const json = textOf(texts, "json");
      if (json !== undefined) await checkPlace(json, { where: "--json" });
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
      const precisions = choices("--precisions", EIGHT_BIT)(textOf(texts, "precisions") ?? "none");
      if (texts.outliers && precisions.length === 0)
        throw new VdError({
          ...{ code: "attr", where: "--outliers", expected: "--precisions beside it", got: "none" },
        });
      const made = () => ({ createdAt: new Date().toISOString(), machine: machineInfo(device) });
      const work = texts.outliers ? await mkdtemp(join(tmpdir(), "vd-bench-")) : undefined;
      const opened = work === undefined ? model : await withOutliers(model, work, seed);
      const pipeline = await StableVideoDiffusionPipeline.fromPretrained(opened, { ...load, signal });
      try {
        const own = pipeline.defaults;
        const { width, height } = size === undefined ? own : readFrameSize(size);
        const options = {
          ...{ width, height, seed, signal, image: pictureOf(texts, model, { width, height }) },
          numFrames: frames === undefined ? own.numFrames : readFrames(frames),
          steps: steps === undefined ? own.steps : readSteps(steps),
        };
        if (precisions.length > 0) {
          const onProgress = (done: number, total: number) => reporter.progress("videos", done, total);
          const compared = await comparePrecisions({ model: opened, load, pipeline, options, precisions, onProgress });
          stdout.write(`${precisionTable(compared)}\n`);
          const { image: _, signal: __, ...settings } = options;
          await writeJson(json, {
            ...made(),
            model,
            ...load,
            ...settings,
            outliers: texts.outliers === true,
            runs: compared,
          });
          return;
        }
        const onProgress = (done: number, total: number) => reporter.progress("videos", done, total);
        const runs = await compareSavings(pipeline, options, SAVINGS, { rounds, onProgress });
        stdout.write(`${qualityTable(runs)}\n`);
        const { image: _, signal: __, ...settings } = options;
        await writeJson(json, { ...made(), model, ...load, ...settings, runs });
      } finally {
        pipeline.dispose();
        if (work !== undefined) await rm(work, { recursive: true, force: true });
      }
    });
}
