import { VdError } from "@vd/kernels-native";
import { cliRows } from "@vd/svd-pipeline/options";
import { CLIP_TABLE, GAME_TABLE, INPUT_TABLE, PICTURE_TABLE } from "./tables";

/** Flags by what a session calls the option. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ...[GAME_TABLE, INPUT_TABLE, PICTURE_TABLE, CLIP_TABLE]
    .flatMap(cliRows)
    .map(({ options, name }) => [options[0]!, name] as const),
  ["deadlineMs", "--deadline"],
  ["picture", "--input"],
]);

/** A session's error about one of its options. */
const OF_SESSION = /^session\] \[(\w+)$/;

/** The session's error in the words of the command line: `--steps` for `session] [steps`. */
export function nameFlags(error: VdError): VdError {
  const flag = FLAGS.get(OF_SESSION.exec(error.where)?.[1] ?? "");
  if (flag === undefined) return error;
  const { code, expected, got, hint, cause } = error;
  return new VdError({ code, where: flag, expected, got, hint, cause });
}
