import { integer, object } from "./kinds";
import { always, type OptionGroup, type OptionTable } from "./option";

/** As many videos as this take more memory than machines have. */
const MAX_VIDEOS = 1024;

const isList = (value: unknown) => Array.isArray(value) && value.length > 0 && value.length <= MAX_VIDEOS;

/** What a batch takes besides the options of one generation, in the order of documentation. */
export const BATCH_TABLE = {
  images: {
    kind: object({
      ...{ type: "readonly (PictureSource | FloatImage)[]", imports: ["PictureSource", "FloatImage"] },
      ...{ expected: `a list of 1 to ${MAX_VIDEOS} pictures`, is: isList },
    }),
    doc: "The pictures to animate, each as `image` takes one. A single one goes with every seed.",
    required: true,
  },
  seeds: {
    kind: object({
      ...{ type: "readonly (number | bigint)[]", expected: `a list of 1 to ${MAX_VIDEOS} seeds`, is: isList },
    }),
    doc: "One seed for each picture, or a single one for all of them. Without seeds each picture has a random one.",
  },
  videosPerPicture: {
    kind: integer(1, MAX_VIDEOS),
    doc: "Videos of each picture and seed, which take one part after another of the seed's noise: diffusers' `num_videos_per_prompt`.",
    default: always(1),
  },
} as const satisfies OptionTable;

/** Options of a batch as documentation shows them. */
export const BATCH_GROUP: OptionGroup = {
  title: "Batch",
  intro:
    "`pipeline.generateBatch(options)` takes these instead of `image`, `seed` and `latents`, beside the other options of a generation.",
  table: BATCH_TABLE,
};
