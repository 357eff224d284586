import { choice, type OptionTable } from "@vd/svd-pipeline/options";

/** Shells that completion scripts are made for. */
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

/** Options of `completion`. */
export const COMPLETION_TABLE = {
  shell: { kind: choice(SHELLS), doc: "The shell that the script is for.", required: true, cli: { flags: "<SHELL>" } },
} as const satisfies OptionTable;
