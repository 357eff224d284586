import { VdError } from "@vd/kernels-native";
import { cliRows } from "@vd/svd-pipeline/options";
import { CLIP_TABLE, GAME_TABLE, INPUT_TABLE, PICTURE_TABLE } from "./tables";

/** Flags by what a session, or a drift run, calls the option. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ...[GAME_TABLE, INPUT_TABLE, PICTURE_TABLE, CLIP_TABLE]
    .flatMap(cliRows)
    .map(({ options, name }) => [options[0]!, name] as const),
  ["deadlineMs", "--deadline"],
  ["picture", "--input"],
  ["frames", "--frames"],
  ["everyFrames", "--every"],
]);

/** An error about one of the options of a session or a drift run. */
const OF_OPTION = /^(?:session|drift)\] \[(\w+)$/;

/** The error in the words of the command line: `--steps` for `session] [steps`. */
export function nameFlags(error: VdError): VdError {
  const flag = FLAGS.get(OF_OPTION.exec(error.where)?.[1] ?? "");
  if (flag === undefined) return error;
  const { code, expected, got, hint, cause } = error;
  return new VdError({ code, where: flag, expected, got, hint, cause });
}
