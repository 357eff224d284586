import { VdError } from "@vd/kernels-native";

/** The error of a pipeline that is constructed and not opened. */
export function notOpenedError(): VdError {
  return new VdError({
    code: "unsupported",
    where: "pipeline",
    expected: "a pipeline that is opened, not constructed",
    got: "new StableVideoDiffusionPipeline()",
    hint: "Use await StableVideoDiffusionPipeline.fromPretrained(folderOrHubName), or .fromSingleFile(path).",
  });
}
