import { VdError } from "@vd/kernels-native";
import { ROW_OF_OPTION } from "./rows";

/** An option and its value as hints of the library name them: `device "cpu"`. */
const OPTION_AND_VALUE = /\b([a-z]\w*) "([^"]*)"/gi;

/** The library's error in the words of the command line: `--frames` for `numFrames`, `--device cpu` for `device "cpu"`. */
export function nameFlags(error: VdError): VdError {
  const { code, expected, got, cause } = error;
  const where = (code === "attr" && ROW_OF_OPTION.get(error.where)?.name) || error.where;
  const hint = error.hint?.replace(OPTION_AND_VALUE, (words, option: string, value: string) => {
    const row = ROW_OF_OPTION.get(option);
    return row ? `${row.name} ${value}` : words;
  });
  if (where === error.where && hint === error.hint) return error;
  return new VdError({ code, where, expected, got, hint, cause });
}
