import { dirname } from "node:path";
import type { CalibrateOptions, Calibration, LoadOptions } from "@vd/svd-pipeline";
import { discardAll, requireFolder } from "@vd/tensor";
import type { Context, Dependencies } from "../dependencies";
import { parseLoras } from "../model/loras";
import { modelSource } from "../model/source";
import { consentTo } from "../models/consent";
import type { ArgumentsContext } from "../options/arguments";
import { CALIBRATE } from "../options/commands";
import { parseCommand } from "../options/parse";
import { readPicture } from "../picture";
import { expandPictures } from "../pictures";
import { writeEvent } from "../report/json";
import { type ReadCommand, runCommand } from "../report/run-command";

/** Checked values of the command's options. */
interface Values extends Pick<LoadOptions, "device" | "dtype" | "threads"> {
  pictures: string;
  model?: string;
  lora?: string;
  output?: string;
  steps?: number;
  numFrames?: number;
  width?: number;
  height?: number;
  seed?: bigint;
  yes: boolean;
  json: boolean;
  quiet: boolean;
}

/**
 * Runs `calibrate`.
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 cancelled. It throws nothing.
 */
export function runCalibrate(
  argv: readonly string[],
  argumentsContext: ArgumentsContext,
  dependencies: Dependencies,
): Promise<number> {
  const read = (): ReadCommand => {
    const parsed = parseCommand(CALIBRATE, argv, argumentsContext);
    if (parsed.kind === "text") return parsed;
    const values = parsed.values as unknown as Values;
    return {
      kind: "values",
      json: values.json,
      quiet: values.quiet,
      work: (context) => calibrateModel(values, context),
    };
  };
  return runCommand(argv, { read, cancelled: "no table was written", finish: discardAll }, dependencies);
}

/** The pictures and what is typed about the generations. */
async function calibrateOptions(values: Values, { stdin, signal, reporter }: Context): Promise<CalibrateOptions> {
  const { steps, numFrames, width, height, seed } = values;
  const size = { width: width ?? LARGE_SIDE, height: height ?? LARGE_SIDE };
  const images: CalibrateOptions["images"][number][] = [];
  for (const path of await expandPictures(values.pictures.split(",")))
    images.push(await readPicture(path, size, { stdin }));
  const typed = Object.entries({ steps, numFrames, width, height, seed }).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(typed),
    ...{ images, signal, onWarning: (message) => reporter.warning(message) },
    onProgress: (event) => reporter.progress(event),
  };
}

/** Pictures are read no larger where no size is said. */
const LARGE_SIDE = 1024;

async function calibrateModel(values: Values, context: Context): Promise<void> {
  const { io, reporter, signal } = context;
  const source = await modelSource(values.model);
  if (values.output !== undefined) await requireFolder(dirname(values.output), "--output");
  const options = await calibrateOptions(values, context);
  const { StableVideoDiffusionPipeline, calibrationBeside, saveCalibration } = await import("@vd/svd-pipeline");
  const load: LoadOptions = {
    ...{ device: values.device, dtype: values.dtype, threads: values.threads, loras: parseLoras(values.lora), signal },
    hub: { onBeforeDownload: consentTo({ ...context, yes: values.yes, json: values.json }) },
    onProgress: (event) => reporter.progress(event),
  };
  using pipeline = await (source.kind === "file"
    ? StableVideoDiffusionPipeline.fromSingleFile(source.name, load)
    : StableVideoDiffusionPipeline.fromPretrained(source.name, load));
  const calibration = await pipeline.calibrate(options);
  const path = values.output ?? (await calibrationBeside(pipeline.source));
  await saveCalibration(path, calibration.table);
  reporter.close();
  if (values.json) writeEvent(io, { event: "done", path, ...countsOf(calibration) });
  else if (!values.quiet) io.stdout.write(summaryOf(path, calibration));
}

/** How many layers there are, and how many of them are smoothed. */
function countsOf({ layers }: Calibration) {
  const smoothed = [...layers.values()].filter(({ i8 }) => i8.strength > 0);
  return { layers: layers.size, smoothed: smoothed.length };
}

function summaryOf(path: string, calibration: Calibration): string {
  const { layers, smoothed } = countsOf(calibration);
  const gains = [...calibration.layers.values()].map(({ i8 }) => Math.log10((i8.plainError || 1) / (i8.error || 1)));
  const mean = (10 * gains.reduce((sum, gain) => sum + gain, 0)) / Math.max(gains.length, 1);
  return `${path}: ${layers} layers, ${smoothed} of them smoothed for int8, which takes ${mean.toFixed(1)} dB off their error.\n`;
}
