// Measures the kernel variants of every stage of --model DIR at the sizes that users ask for, as the pipeline records them: with guidance
// and without, in 16 and in 8 bits, in full and in low memory use. Writes which suit this device: --json FILE, the format of
// packages/tensor/src/tune/defaults. Prints the rows whose variant changes, and what their stages take before and after: changes that do
// not make a whole stage faster are left out.
import { parseArgs } from "node:util";
import { type Device, isVdError, openDevice } from "@vd/kernels-native";
import {
  BESIDE_BYTES,
  choosePieces,
  decodeStage,
  type LayerPrecision,
  type MemoryUse,
  type Models,
  makeModels,
  modelsWithLayers,
  normsAreFused,
  openEightBits,
  openModelFolder,
  StageLayouts,
  type StageShape,
  settleConvolutions,
  stagesBefore,
} from "@vd/svd-pipeline";
import { type GraphLayout, Plan, type TuningEntry, type TuningTable, tunePlan, writeTuningTable } from "@vd/tensor";
import { spatialBytesOf, spatialFactor } from "@vd/vae-opt";
import { about } from "./about";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    model: { type: "string", default: "models/tiny-svd" },
    sizes: { type: "string", default: "1024x576x25,1024x576x14,512x512x14" },
    precisions: { type: "string", default: "full,fp8" },
    rows: { type: "string", default: "2,1" },
    memory: { type: "string", default: "full,low" },
    repeats: { type: "string", default: "3" },
    json: { type: "string" },
  },
});

/** The sampler's needs by default: Euler's, in one launch after the denoiser. */
const STEP_NEEDS = { numHistory: 0, drawsNoise: false };
/** Runs of each whole stage, with the table and without in turn. */
const NUM_COMPARED = 5;
/** What a stage must take at most with the table, as a share of its time without: less of a gain is noise. */
const LEAST_GAIN = 0.99;

interface StageLayout {
  name: string;
  layout: GraphLayout;
}

type Entries = Record<string, TuningEntry>;

/** How stages are recorded. */
interface Recording {
  size: string;
  precision: LayerPrecision;
  /** With guidance 2. */
  rows: 1 | 2;
  memory: MemoryUse;
}

const device = openDevice(options.device as "cpu" | "cuda");
await device.prepare();
const components = await openModelFolder(options.model, "fp16");
const activations = device.kind === "cpu" ? "float32" : "float16";

/** Models with layers in 8 bits, and how the decoder computes then; scales follow from weights, whose values play no part. */
async function modelsIn(precision: LayerPrecision): Promise<{ models: Models; decoder: "fp8" | undefined }> {
  const layers = { precision, calibration: "none" } as const;
  const eightBits = await openEightBits({ components, device, denoiser: undefined, layers });
  return { models: modelsWithLayers(makeModels(components), eightBits), decoder: eightBits?.decoder };
}

async function shapeOf(models: Models, { size, rows, memory }: Recording): Promise<StageShape> {
  const [width = 0, height = 0, numFrames = 0] = size.split("x").map(Number);
  const dtype = device.kind === "cpu" ? "f32" : "f16";
  const fused = normsAreFused(device, activations);
  return {
    ...{ width, height, numFrames, rows, dtype, decodeChunk: undefined, factor: spatialFactor(models.vae.config) },
    convolutions: await settleConvolutions("auto", { device, precision: activations, memory }),
    ...{ fusedNorm: fused, fusedLayerNorm: fused, spatialBytes: spatialBytesOf(device) },
  };
}

/** All stages of a generation as the pipeline would load them. */
async function layoutsOf(recording: Recording): Promise<StageLayout[]> {
  const { precision, memory } = recording;
  const { models, decoder } = await modelsIn(precision);
  const shape = { ...(await shapeOf(models, recording)), decoder };
  const layouts = new StageLayouts();
  const stages = stagesBefore(models, shape, {
    clipSize: components.clipPixels.size,
    numModelCalls: 1,
    stepNeeds: STEP_NEEDS,
  });
  const where = Object.values(recording).join(" ");
  const found = stages.map(([stage]) => ({ name: `${where} ${stage.name}`, layout: layouts.of(stage) }));
  const stays = found.reduce((sum, { layout: { memory: each } }) => sum + each.weightBytes - each.transformedBytes, 0);
  const residentBytes = memory === "full" ? stays + BESIDE_BYTES : 0;
  const { chunkFrames } = await choosePieces(models, shape, { device, layouts, memory, residentBytes });
  const decode = layouts.of(decodeStage(models, { ...shape, decodeChunk: chunkFrames }));
  return [...found, { name: `${where} decode by ${chunkFrames ?? "all"}`, layout: decode }];
}

/** Everything that is to be tuned. */
function* recordings(): Generator<Recording> {
  for (const size of options.sizes.split(","))
    for (const precision of options.precisions.split(",") as LayerPrecision[])
      for (const rows of options.rows.split(",").map(Number) as (1 | 2)[])
        for (const memory of options.memory.split(",") as MemoryUse[]) yield { size, precision, rows, memory };
}

/** Small numbers around zero, the same in every run. */
function fill(plan: Plan): void {
  for (const [name, { dims }] of plan.layout.graph.inputs) {
    const length = dims.reduce((product, size) => product * size, 1);
    plan.writeSync(
      name,
      Float32Array.from({ length }, (_, i) => ((i * 2654435761) % 1024) / 512 - 1),
    );
  }
}

/** The rows whose variant is not the device's own choice, which was measured first. */
function printChanges(entries: Entries): void {
  for (const [key, { variant, timesUs }] of Object.entries(entries)) {
    const [guess, guessUs] = Object.entries(timesUs)[0]!;
    if (guess !== variant) console.log(`${key}: ${guess} ${guessUs} us -> ${variant} ${timesUs[variant]} us`);
  }
}

/** Best times of a whole stage without the table and with it, run in turn. */
async function compareStage(layout: GraphLayout, table: TuningTable): Promise<[beforeUs: number, afterUs: number]> {
  const plans: Plan[] = [];
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  try {
    plans.push(await Plan.load(device, layout, { tuning: false, batchInvariant: true }));
    plans.push(await Plan.load(device, layout, { tuning: table, batchInvariant: true }));
    for (const plan of plans) {
      fill(plan);
      await plan.run();
    }
    for (let i = 0; i < NUM_COMPARED; i++)
      for (const [which, plan] of plans.entries()) best[which] = Math.min(best[which]!, (await plan.run()).elapsedUs);
    return best;
  } finally {
    for (const plan of plans) plan.freeSync();
  }
}

/** How a stage's time changed. */
function changeOf(name: string, [beforeUs, afterUs]: readonly [number, number]): string {
  const percent = (100 * (afterUs / beforeUs - 1)).toFixed(1);
  const [before, after] = [beforeUs, afterUs].map((us) => (us / 1000).toFixed(2));
  return `${name}: ${before} ms before, ${after} ms after (${percent} %)`;
}

function tableOf({ name }: Device, entries: Entries): TuningTable {
  const { driverVersion, kernelHash } = about();
  return { device: name, driverVersion, kernelHash, entries };
}

const isChange = ({ variant, timesUs }: TuningEntry): boolean => Object.keys(timesUs)[0] !== variant;

/** The entries with every change taken back. */
const withoutChanges = (entries: Entries): Entries =>
  Object.fromEntries(
    Object.entries(entries).map(([key, entry]) => [key, { ...entry, variant: Object.keys(entry.timesUs)[0]! }]),
  );

/** True where the whole stage is faster with what was found. Rows are timed one by one, with pauses in between in which a GPU cools: at its
 *  limit of power, what one of them gains the next may lose by the clock. */
async function isFaster({ name, layout }: StageLayout, found: Entries): Promise<boolean> {
  try {
    const [beforeUs, afterUs] = await compareStage(layout, tableOf(device, found));
    const faster = afterUs < LEAST_GAIN * beforeUs;
    console.log(`${changeOf(name, [beforeUs, afterUs])}${faster ? "" : ": not kept"}`);
    return faster;
  } catch (error) {
    // Two plans at once may be too much for a small card.
    if (!isVdError(error) || error.code !== "memory") throw error;
    console.log(`${name}: not compared, ${error.message}`);
    return true;
  }
}

/** What was found for a stage that has rows of its own; nothing of it changes where that does not pay. */
async function tuneStage({ name, layout }: StageLayout, known: Entries): Promise<Entries> {
  const startMs = performance.now();
  let numPasses = 0;
  const onProgress = ({ pass, numRows }: { pass: number; numRows: number }) => {
    numPasses = pass;
    process.stderr.write(`\r${name}: pass ${pass}, ${numRows} rows   `);
  };
  const found = await tunePlan(device, layout, {
    ...{ repeats: Number(options.repeats), known, batchInvariant: true, fill, onProgress },
  });
  process.stderr.write("\r\x1b[K");
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${name}: ${Object.keys(found).length} new rows with a choice, ${numPasses} passes, ${seconds} s`);
  printChanges(found);
  if (!Object.values(found).some(isChange)) return found;
  return (await isFaster({ name, layout }, found)) ? found : withoutChanges(found);
}

const startMs = performance.now();
const stages: StageLayout[] = [];
for (const recording of recordings()) stages.push(...(await layoutsOf(recording)));
let entries: Entries = {};
for (const stage of stages) entries = { ...entries, ...(await tuneStage(stage, entries)) };
const changed = Object.fromEntries(Object.entries(entries).filter(([, entry]) => isChange(entry)));
if (options.json) writeTuningTable(options.json, tableOf(device, changed));
console.log(`${Object.keys(changed).length} of ${Object.keys(entries).length} rows with a choice change`);
console.log(`tuned ${device.name} in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
