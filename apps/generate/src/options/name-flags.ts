import { VdError } from "@vd/kernels-native";
import { ROW_OF_OPTION } from "./rows";

/** An option and its value as hints of the library name them: `device "cpu"`. */
const OPTION_AND_VALUE = /\b([a-z]\w*) "([^"]*)"/gi;

/** A name that cannot be taken for a word of a sentence: `decodeChunk`. */
const OPTION_NAME = /\b[a-z]+[A-Z]\w*/g;

/** Two options of the library that are one flag. */
const SAME_TWICE = /(--[\w-]+) and \1\b/g;

/** The library's error in the words of the command line: `--frames` for `numFrames`, `--device cpu` for `device "cpu"`. */
export function nameFlags(error: VdError): VdError {
  const { code, expected, got, cause } = error;
  const flagOf = (option: string) => ROW_OF_OPTION.get(option)?.name;
  const isOption = code === "attr" || /^[a-z]+[A-Z]\w*$/.test(error.where);
  const where = (isOption && flagOf(error.where)) || error.where;
  const hint = error.hint
    ?.replace(OPTION_AND_VALUE, (words, option: string, value: string) => {
      const flag = flagOf(option);
      return flag === undefined ? words : `${flag} ${value}`;
    })
    .replace(OPTION_NAME, (word) => flagOf(word) ?? word)
    .replace(SAME_TWICE, "$1");
  if (where === error.where && hint === error.hint) return error;
  return new VdError({ code, where, expected, got, hint, cause });
}
