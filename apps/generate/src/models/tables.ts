import { always, boolean, LOAD_TABLE, type OptionTable, text } from "@vd/svd-pipeline/options";
import { RUN_TABLE } from "../options/tables";

const MODEL = {
  kind: text("a name"),
  doc: "A model of the Hub: owner/name, owner/name@revision, hf:owner/name or https://huggingface.co/owner/name.",
  required: true,
  cli: { flags: "<MODEL>" },
} as const;

const JSON_ROW = {
  ...RUN_TABLE.json,
  doc: "One JSON object per line on standard output, nothing else there.",
} as const;

/** Options of `models list`. */
export const LIST_TABLE = {
  all: {
    kind: boolean,
    doc: "Shows everything in the cache, also models that other programs have put there.",
    default: always(false),
    cli: { flags: "-a, --all" },
  },
  json: JSON_ROW,
} as const satisfies OptionTable;

/** Options of `models pull`. */
export const PULL_TABLE = {
  model: MODEL,
  device: { ...LOAD_TABLE.device, doc: "What will run the model; it decides which of its files are fetched." },
  dtype: { ...LOAD_TABLE.dtype, doc: "Element type of the weights to fetch, where the model has several." },
  yes: RUN_TABLE.yes,
  json: JSON_ROW,
  quiet: RUN_TABLE.quiet,
} as const satisfies OptionTable;

/** Options of `models rm`. */
export const REMOVE_TABLE = {
  model: { ...MODEL, doc: "A model of the cache, as `models list` names it." },
  yes: {
    kind: boolean,
    doc: "Deletes without asking.",
    default: always(false),
    cli: { flags: "-y, --yes" },
  },
  json: JSON_ROW,
} as const satisfies OptionTable;
