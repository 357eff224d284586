import { VdError } from "@vd/kernels-native";
import type { DiffusionSources } from "./open-model";
import type { DiffusionModel } from "./types";
export async function openSingleFile(path: string, _sources: DiffusionSources): Promise<DiffusionModel> {
  throw new VdError({ code: "unsupported", where: path, expected: "x", got: "y" });
}
