import type { OptionGroup, OptionTable } from "@vd/svd-pipeline/options";
import { CALIBRATE_TABLE } from "../calibrate/tables";
import { COMPLETION_TABLE } from "../completion/tables";
import { LIST_TABLE, PULL_TABLE, REMOVE_TABLE } from "../models/tables";
import { GROUPS } from "./tables";

/** What the program is called in messages and help. */
export const PROGRAM = "vd-generate";

/** A shorter name that the program is installed under too: `vd models list`. */
export const ALIAS = "vd";

/** One command of the program: all that help, completion and the manual page say of it. */
export interface CommandSpec {
  /** Words that call it: `models pull`; empty for the command that needs none. */
  words: string;
  /** A sentence. */
  doc: string;
  groups: readonly OptionGroup[];
}

const group = (table: OptionTable): OptionGroup => ({ title: "Options", intro: "", table, isApp: true });

/** What makes a video. */
export const GENERATE: CommandSpec = {
  words: "",
  doc: "A picture in, a video out: Stable Video Diffusion on this machine.",
  groups: GROUPS,
};

/** What shows the models on this machine. */
export const MODELS_LIST: CommandSpec = {
  words: "models list",
  doc: "Lists the models on this machine, with their size on the disk.",
  groups: [group(LIST_TABLE)],
};

/** What downloads a model. */
export const MODELS_PULL: CommandSpec = {
  words: "models pull",
  doc: "Downloads a model of the Hub, or the rest of it, into the cache.",
  groups: [group(PULL_TABLE)],
};

/** What deletes a model. */
export const MODELS_REMOVE: CommandSpec = {
  words: "models rm",
  doc: "Deletes a model from the cache.",
  groups: [group(REMOVE_TABLE)],
};

/** What makes shells complete the command line. */
export const COMPLETION: CommandSpec = {
  words: "completion",
  doc: "Prints the script with which a shell completes command lines.",
  groups: [group(COMPLETION_TABLE)],
};

/** What finds out about a model's layers what `--precision` wants to know. */
export const CALIBRATE: CommandSpec = {
  words: "calibrate",
  doc: "Makes the table with which --precision is faster and nearer to the exact frames.",
  groups: [group(CALIBRATE_TABLE)],
};

/** Every command but the one that needs no words. */
export const FURTHER_COMMANDS: readonly CommandSpec[] = [
  CALIBRATE,
  MODELS_LIST,
  MODELS_PULL,
  MODELS_REMOVE,
  COMPLETION,
];

/** Exit statuses of every command, by what happened. */
export const EXIT_STATUSES = "0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C";

/** Command lines to begin with, and what they do. */
export const EXAMPLES: readonly (readonly [words: string, doc: string])[] = [
  ["", "the bundled model, its picture, out.mp4"],
  ["cat.png -o cat.gif --seed 7", "a picture of yours as an animation, the same each time"],
  [
    "cat.png -m hf:stabilityai/stable-video-diffusion-img2vid --dry-run",
    "what a model of the Hub would take; nothing is made",
  ],
  ["models list", "which models are on this machine"],
];
