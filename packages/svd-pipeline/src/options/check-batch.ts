import { VdError } from "@vd/kernels-native";
import type { BatchOptions, GenerateOptions } from "../types";
import { BATCH_TABLE } from "./batch-table";
import { drawSeed } from "./check-generate";
import { checkTable } from "./check-table";

/** The videos that one picture and seed make. */
export interface BatchJob {
  options: GenerateOptions;
  /** At least 1. */
  numVideos: number;
}

const NOT_IN_BATCHES = ["image", "seed", "latents"] as const;

/** Lists of one length; a list of one value goes with every value of the other. */
function paired(numImages: number, seeds: BatchOptions["seeds"]): number {
  if (seeds === undefined || seeds.length === numImages || seeds.length === 1) return numImages;
  if (numImages === 1) return seeds.length;
  const expected = `one seed, or ${numImages}: one for each picture`;
  throw new VdError({ code: "attr", where: "seeds", expected, got: `${seeds.length} seeds` });
}

/**
 * Returns the work of a batch in the order of its results. The options of each job are checked by whoever runs it.
 *
 * @throws VdError `attr` naming the option
 */
export function batchJobs(options: BatchOptions): BatchJob[] {
  const { images, seeds, videosPerPicture, ...rest } = Object(options) as BatchOptions;
  const names = Object.keys(BATCH_TABLE);
  const own = Object.fromEntries(Object.entries(Object(options)).filter(([name]) => names.includes(name)));
  checkTable("generateBatch", BATCH_TABLE, own);
  for (const name of NOT_IN_BATCHES) {
    if ((rest as Partial<GenerateOptions>)[name] === undefined) continue;
    const hint = name === "latents" ? "Generate the videos one by one." : `Use ${name}s, a list.`;
    throw new VdError({ code: "attr", where: "generateBatch", expected: `no ${name}`, got: "one", hint });
  }
  if (rest.resume !== undefined && seeds === undefined)
    throw new VdError({ code: "attr", where: "seeds", expected: "seeds in a batch with resume", got: "none" });
  if (images === undefined) {
    const expected = BATCH_TABLE.images.kind.expected;
    throw new VdError({ code: "attr", where: "images", expected, got: "none" });
  }
  return Array.from({ length: paired(images.length, seeds) }, (_, i) => ({
    options: {
      ...rest,
      image: images[images.length === 1 ? 0 : i]!,
      seed: seeds?.[seeds.length === 1 ? 0 : i] ?? drawSeed(),
    },
    numVideos: videosPerPicture ?? 1,
  }));
}
