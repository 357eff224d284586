import type { GenerateOptions, LoadOptions } from "@vd/svd-pipeline";
import type { OutputSettings, RunSettings } from "./options/option-types.generated";

/** What the command line and the config file say, checked one by one. */
export interface Settings extends RunSettings, OutputSettings {
  /** What was said about the video; what is missing is the model's to decide. */
  generate: Omit<Partial<GenerateOptions>, "image">;
  /** True where the file is read by standard output in the end. */
  isPiped?: true;
  /** What was said about opening the model. */
  load: LoadOptions;
}
