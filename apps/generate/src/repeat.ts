import { createHash } from "node:crypto";
import { basename } from "node:path";
import { isVdError, VdError } from "@vd/kernels-native";
import { type RgbImage, readComment } from "@vd/media";
import { cliRows, GENERATE_TABLE, isSwitch, LOAD_TABLE, type OptionTable, writeCli } from "@vd/svd-pipeline/options";
import type { RawValues } from "./options/arguments";
import { rawValuesOf } from "./options/config-file";
import type { Settings } from "./settings";

/** What a video's file says of how it was made. */
interface Recipe {
  /** Options as a config file holds them. */
  settings: Record<string, unknown>;
  /** Of the pixels of all pictures that it was made of, SHA-256. */
  pictures: string;
}

/** The pictures that a video is made of. */
export interface Ingredients {
  picture: RgbImage;
  clip: readonly RgbImage[] | undefined;
  last: RgbImage | undefined;
}

/** The options of a table that have a value, as a config file holds them. */
function written(table: OptionTable, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const rows = cliRows(table).filter(({ options }) => options.every((name) => values[name] !== undefined));
  return Object.fromEntries(
    rows.map((row) => {
      const own = row.options.map((name) => values[name]);
      return [row.key, isSwitch(row) ? own[0] : writeCli(row, own)];
    }),
  );
}

function hashOf({ picture, clip = [], last }: Ingredients): string {
  const hash = createHash("sha256");
  for (const { width, height, data } of [picture, ...clip, ...(last ? [last] : [])])
    hash.update(`${width}x${height}:`).update(data);
  return hash.digest("hex");
}

/** JSON in ASCII. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Returns what the file keeps: all settings, with the seed, and a hash of the pictures. options: those of the generation. */
export function recipeText(
  options: object,
  { image, model, last, extend, load }: Settings,
  pictures: Ingredients,
): string {
  const named = Object.entries({ image, model, last, extend }).filter(([, value]) => value !== undefined);
  const settings = {
    ...Object.fromEntries(named),
    ...written(GENERATE_TABLE, options as Record<string, unknown>),
    ...written(LOAD_TABLE, load as Record<string, unknown>),
  };
  const recipe: Recipe = { settings, pictures: hashOf(pictures) };
  return asciiJson({ program: "vd-generate", ...recipe });
}

const noRecipe = (path: string, got: string, cause?: unknown) =>
  new VdError({
    ...{
      code: "io",
      where: "--repeat",
      expected: "a video that vd-generate made, with its settings in it",
      got: `${basename(path)}: ${got}`,
    },
    hint: "Programs that convert videos drop them, and --no-metadata leaves them out",
    cause,
  });

/**
 * Reads what a video's file says of how it was made.
 *
 * @throws VdError `io` for a file that cannot be read or that does not say
 */
async function readRecipe(path: string): Promise<Recipe> {
  const comment = await readComment(path).catch((cause: unknown) => {
    throw noRecipe(path, isVdError(cause) ? cause.got : String(cause), cause);
  });
  if (comment === undefined) throw noRecipe(path, "no settings in it");
  try {
    const { settings, pictures } = JSON.parse(comment) as Partial<Recipe>;
    if (typeof settings === "object" && settings !== null && typeof pictures === "string")
      return { settings, pictures };
  } catch (cause) {
    throw noRecipe(path, "settings that are damaged", cause);
  }
  throw noRecipe(path, "a comment of another kind");
}

/**
 * Returns the options with which a video was made, as if they had been typed.
 *
 * @throws VdError `io` as above, `attr` for options that this version does not know
 */
export async function readRepeated(path: string): Promise<RawValues> {
  const { settings } = await readRecipe(path);
  return rawValuesOf(settings, basename(path));
}

/**
 * Makes sure that the pictures are those that the repeated video was made of; not where another one was named.
 *
 * @throws VdError `io` for others under the same names
 */
export async function checkRepeated({ repeat, image, last, extend }: Settings, pictures: Ingredients): Promise<void> {
  if (repeat === undefined) return;
  const recipe = await readRecipe(repeat);
  const { settings } = recipe;
  const isSame = settings.image === image && settings.last === last && settings.extend === extend;
  if (!isSame || recipe.pictures === hashOf(pictures)) return;
  throw new VdError({
    ...{
      code: "io",
      where: "--repeat",
      expected: `the pictures that ${basename(repeat)} was made of`,
      got: "others under the same names",
    },
    hint: "Name the picture itself to use the same settings with another one",
  });
}
