import { basename, extname, join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { valueError } from "@vd/svd-pipeline/options";
import { statIfThere } from "@vd/tensor";
import { glob } from "tinyglobby";
import { OUTPUT_TABLE } from "./options/tables";
import type { Settings } from "./settings";

/** The word that stands for standard input, and for standard output. */
export const STANDARD = "-";

/** Stands for the picture's name in the name of an output. */
const NAME = "{name}";

const isAddress = (word: string) => /^(https?|file|data):/i.test(word);

/** The files that a word means: those that match a pattern, or the word itself. */
async function filesOf(word: string): Promise<string[]> {
  const isPattern = /[*?[\]{}]/.test(word) && !isAddress(word);
  // A file may be called like a pattern.
  if (!isPattern || (await statIfThere(word).catch(() => undefined))) return [word];
  const found = await glob(word, { expandDirectories: false, dot: false });
  if (found.length > 0) return found.sort();
  throw new VdError({ code: "io", where: "IMAGE", expected: `files that match ${word}`, got: "none" });
}

/**
 * Returns the pictures that words of a command line name, in their order: files, patterns such as `*.png`, addresses, `-`.
 *
 * @throws VdError `io` for a pattern that nothing matches
 */
export async function expandPictures(words: readonly string[]): Promise<string[]> {
  const lists: string[][] = [];
  for (const word of words) lists.push(await filesOf(word));
  return lists.flat();
}

/** A picture's name without folder and ending, for the name of its video. */
function nameOf(picture: string): string {
  if (picture === STANDARD) return "stdin";
  if (/^data:/i.test(picture)) return "data";
  const path = isAddress(picture) && URL.canParse(picture) ? new URL(picture).pathname : picture;
  return basename(path, extname(path)) || "picture";
}

/** Returns the place of a picture's video: the output with the picture's name for `{name}`. */
export function outputOf(picture: string, output: string): string {
  return output.replaceAll(NAME, nameOf(picture));
}

/**
 * Returns the name that the outputs of several pictures are made of.
 *
 * @throws VdError `attr` for one that has no place for the picture's name
 */
export function outputPattern({ output }: Pick<Settings, "output">): string {
  if (output.includes(NAME)) return output;
  if (output === OUTPUT_TABLE.output.default.value) return `${NAME}${extname(output)}`;
  const hint = `Write ${NAME} where the picture's name goes, as in -o "${NAME}.mp4"`;
  throw valueError("--output", `a name with ${NAME} in it, for several pictures`, output, hint);
}

/**
 * Returns the settings of a run for each picture.
 *
 * @throws VdError `attr` for an output without a place for the names, or two pictures whose videos would have one name
 */
export function settingsOfEach(settings: Settings, pictures: readonly string[]): Settings[] {
  const pattern = outputPattern(settings);
  const places = new Map<string, string>();
  return pictures.map((image) => {
    const output = outputOf(image, pattern);
    const other = places.get(output);
    if (other !== undefined) {
      const hint = "Give the pictures other names, or make their videos one by one";
      throw valueError("IMAGE", "pictures whose videos have names of their own", `${other} and ${image}`, hint);
    }
    places.set(output, image);
    return settingsOf(settings, image, pattern);
  });
}

/** Returns the settings of one of several pictures: a state that is kept in a named folder has a folder of its own in there. */
export function settingsOf(settings: Settings, image: string, pattern: string): Settings {
  const { resume } = settings;
  const folder = typeof resume === "string" && resume !== "" ? join(resume, nameOf(image)) : resume;
  return { ...settings, image, output: outputOf(image, pattern), resume: folder };
}
