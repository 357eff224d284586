import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { throwIfAborted } from "@vd/kernels-native";
import { type GeneratedVideo, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { encodePlainPng, readPicture, testPicture } from "../io/pictures";
import { largestDifference, median, psnrOfBytes, summarize } from "../stats/summary";
import { generateOptions, WARM_UP_STEPS } from "./e2e";
import { emptyFile, type MeasureTools } from "./measure";
import { loadOptionsOf, type MeasureOptions } from "./options";
import type { BenchFile, BenchRow } from "./report";

/** Parts of a generation that are told apart, by what its timings call them. */
const TIMED = ["denoise", "decode"] as const;

/** One device, or several together. */
interface Contender {
  name: string;
  pipeline: StableVideoDiffusionPipeline;
  loadUs: number;
  firstUs: number;
  /** Of each generation: all of it, and its parts. */
  timesUs: Record<"e2e" | (typeof TIMED)[number], number[]>;
  video: GeneratedVideo | undefined;
}

type Generate = (contender: Contender, steps: number) => Promise<GeneratedVideo>;

/** Opens the model on some devices; a short generation takes weights in and records graphs. */
async function openOn(options: MeasureOptions, devices: readonly string[], generate: Generate): Promise<Contender> {
  const startMs = performance.now();
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, {
    ...loadOptionsOf(options),
    devices,
  });
  const contender: Contender = {
    ...{ name: devices.join(","), pipeline, loadUs: (performance.now() - startMs) * 1000, firstUs: 0 },
    ...{ timesUs: { e2e: [], denoise: [], decode: [] }, video: undefined },
  };
  const firstMs = performance.now();
  try {
    await generate(contender, WARM_UP_STEPS);
  } catch (error) {
    pipeline.dispose();
    throw error;
  }
  return { ...contender, firstUs: (performance.now() - firstMs) * 1000 };
}

async function takeTurn(contender: Contender, steps: number, generate: Generate): Promise<void> {
  const startMs = performance.now();
  contender.video = await generate(contender, steps);
  contender.timesUs.e2e.push((performance.now() - startMs) * 1000);
  for (const part of TIMED) contender.timesUs[part].push(contender.video.timings[part] ?? Number.NaN);
}

function rowsOf({ name, timesUs, loadUs, firstUs, video }: Contender, shape: string): BenchRow[] {
  return Object.entries(timesUs).map(([part, times]) => ({
    ...{ suite: "devices", name: `${part}, ${shape}`, contender: name, ...summarize(times) },
    ...(part === "e2e" && { loadUs, firstUs, peakBytes: video!.peakBytes }),
  }));
}

/** What several devices gain, and how far their frames are from those of one. */
function comparison(one: Contender, several: Contender): string[] {
  const gain = (part: keyof Contender["timesUs"]) =>
    `${part} ${(median(one.timesUs[part]) / median(several.timesUs[part])).toFixed(3)}x`;
  const [a, b] = [several.video!.data, one.video!.data];
  const same = Buffer.compare(a, b) === 0;
  const distance = same ? "the same bytes" : `PSNR ${psnrOfBytes(a, b).toFixed(2)} dB`;
  return [
    `${several.name} against ${one.name}: ${(["e2e", ...TIMED] as const).map(gain).join(", ")}`,
    `frames of ${several.name} against ${one.name}: ${distance}, largest difference ${largestDifference(a, b)} of 255`,
  ];
}

async function measureBoth(
  options: MeasureOptions,
  devices: readonly string[],
  { reporter, signal }: Pick<MeasureTools, "reporter" | "signal">,
  generate: Generate,
): Promise<Contender[]> {
  const contenders: Contender[] = [];
  try {
    for (const some of [devices.slice(0, 1), devices]) {
      reporter.note(`${some.join(",")}: opening`);
      contenders.push(await openOn(options, some, generate));
    }
    for (let round = 0; round < options.e2eRounds; round++)
      for (const contender of contenders) {
        throwIfAborted(signal, "e2e");
        await takeTurn(contender, options.steps, generate);
        reporter.progress("e2e", round * 2 + contenders.indexOf(contender) + 1, 2 * options.e2eRounds);
      }
    return contenders;
  } finally {
    for (const { pipeline } of contenders) pipeline.dispose();
  }
}

/**
 * Measures a generation on several devices together beside the first of them alone, turn by turn: from a picture file to frames in
 * host memory, and denoising and decoding in it.
 *
 * @throws VdError for a model or a device that cannot be used; `cancelled`
 */
export async function measureDevices(
  options: MeasureOptions,
  devices: readonly string[],
  tools: Pick<MeasureTools, "reporter" | "signal">,
): Promise<BenchFile> {
  const { reporter, signal } = tools;
  const work = await mkdtemp(join(tmpdir(), "vd-bench-"));
  const image = options.image ?? join(work, "picture.png");
  const generate: Generate = async ({ pipeline }, steps) => {
    const picture = await readPicture(image, await readFile(image));
    return pipeline.generate({ image: picture, ...generateOptions(options, steps), signal });
  };
  try {
    if (options.image === undefined) await writeFile(image, encodePlainPng(testPicture(options.width, options.height)));
    const file = emptyFile(options);
    const contenders = await measureBoth(options, devices, tools, generate);
    const { numFrames, width, height, steps } = options;
    const shape = `${numFrames} frames ${width}x${height}, ${steps} steps`;
    file.rows.push(...contenders.flatMap((contender) => rowsOf(contender, shape)));
    file.notes.push(...comparison(contenders[0]!, contenders[1]!));
    for (const note of file.notes) reporter.note(note);
    return file;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
