import { GENERATE_TABLE, type OptionTable } from "@vd/svd-pipeline/options";

/** The pipeline's option that keeps finished steps in a folder and goes on from them. */
const RESUME = "resume";

/**
 * Returns the option that makes a generation keep its steps in `folder` and go on from those that are there; none where the pipeline
 * has no such option: the work then begins anew.
 */
export function resumeOption(folder: string, table: OptionTable = GENERATE_TABLE): Record<string, string> {
  return RESUME in table ? { [RESUME]: folder } : {};
}
