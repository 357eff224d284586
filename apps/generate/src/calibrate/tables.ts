import { GENERATE_TABLE, LOAD_TABLE, type OptionTable, text } from "@vd/svd-pipeline/options";
import { RUN_TABLE } from "../options/tables";

/** Options of `calibrate`. */
export const CALIBRATE_TABLE = {
  pictures: {
    kind: text("a name"),
    doc: "Pictures like those that videos will be made of, with commas between them, or patterns such as '*.png'; a few are enough.",
    required: true,
    cli: { flags: "<PICTURES>" },
  },
  model: RUN_TABLE.model,
  lora: { ...RUN_TABLE.lora, doc: "LoRAs that videos will be made with: style.safetensors:0.8, several by commas." },
  output: {
    kind: text("a name"),
    doc: "Where the table goes; one that is there is replaced.",
    default: { kind: "found", text: "calibration.json beside the model, where it is looked for" },
    cli: { flags: "-o, --output <FILE>" },
  },
  steps: { ...GENERATE_TABLE.steps, doc: "Steps of each generation." },
  numFrames: { ...GENERATE_TABLE.numFrames, doc: "Frames of each generation." },
  width: GENERATE_TABLE.width,
  height: GENERATE_TABLE.height,
  seed: GENERATE_TABLE.seed,
  device: LOAD_TABLE.device,
  dtype: LOAD_TABLE.dtype,
  threads: LOAD_TABLE.threads,
  yes: RUN_TABLE.yes,
  json: RUN_TABLE.json,
  quiet: RUN_TABLE.quiet,
} as const satisfies OptionTable;
