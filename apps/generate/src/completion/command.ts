import { getCompletionScript } from "@pnpm/tabtab";
import type { TextOutput } from "../io";
import type { ArgumentsContext } from "../options/arguments";
import { ALIAS, COMPLETION, PROGRAM } from "../options/commands";
import { parseCommand } from "../options/parse";
import type { SHELLS } from "./tables";

/**
 * Prints the script with which a shell completes the command line: it calls `vd-generate completion-server`.
 *
 * @throws VdError `attr` for wrong usage
 */
export async function printCompletion(argv: readonly string[], stdout: TextOutput, context: ArgumentsContext) {
  const parsed = parseCommand(COMPLETION, argv, context);
  if (parsed.kind === "text") stdout.write(parsed.text);
  else stdout.write(await completionScripts(parsed.values.shell as (typeof SHELLS)[number]));
}

async function completionScripts(shell: (typeof SHELLS)[number]): Promise<string> {
  const asked = shell === "powershell" ? "pwsh" : shell;
  const scripts = [PROGRAM, ALIAS].map((name) => getCompletionScript({ name, completer: PROGRAM, shell: asked }));
  return (await Promise.all(scripts)).join("");
}
