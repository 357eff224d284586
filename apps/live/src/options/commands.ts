import type { OptionGroup, OptionTable } from "@vd/svd-pipeline/options";
import { BENCH_TABLE, DRIFT_TABLE, PLAY_GROUPS } from "./tables";

/** What the program is called in messages and help. */
export const PROGRAM = "vd-live";

/** One command of the program: all that help and the manual page say of it. */
export interface CommandSpec {
  /** The word that calls it; empty for the command that needs none. */
  words: string;
  /** A sentence. */
  doc: string;
  groups: readonly OptionGroup[];
}

const group = (table: OptionTable): OptionGroup => ({ title: "Options", intro: "", table, isApp: true });

/** What plays. */
export const PLAY: CommandSpec = {
  words: "",
  doc: "Video that is made while it is watched: a game from a diffusion model, in a page, a file or a pipe.",
  groups: PLAY_GROUPS,
};

/** What times. */
export const BENCH: CommandSpec = {
  words: "bench",
  doc: "Times frames and the way from a key to the picture.",
  groups: [group(BENCH_TABLE)],
};

/** What plays long games and measures how they hold. */
export const DRIFT: CommandSpec = {
  words: "drift",
  doc: "Plays a long game and plots what becomes of its pictures.",
  groups: [group(DRIFT_TABLE)],
};

/** Every command but the one that needs no word. */
export const FURTHER_COMMANDS: readonly CommandSpec[] = [BENCH, DRIFT];

/** Exit statuses of every command, by what happened. */
export const EXIT_STATUSES =
  "0 done or a game ended by Ctrl-C, 1 failed, 2 wrong usage, 130 bench or drift stopped by Ctrl-C";

/** Command lines to begin with, and what they do. */
export const EXAMPLES: readonly (readonly [words: string, doc: string])[] = [
  ["", "tiny-live in the browser, steered by the arrow keys"],
  ["--record game.mp4", "the same, and a video of it at the end"],
  ["--model DIR --input picture.png", "a picture that moves without an end, by Stable Video Diffusion"],
  ["-o - --actions right:40,right+jump:10 --frames 500 | ffplay -", "frames into a pipe"],
  ["bench --json live.json", "frames a second, percentiles, key to picture"],
  ["drift --frames 2000 -o drift.html", "what becomes of a long game, as plots"],
];
