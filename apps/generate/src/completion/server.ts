import { getShellFromEnv, log, logFiles } from "@pnpm/tabtab";
import { suggest } from "./suggest";

/** What a shell tells a completion about the line that is being typed. */
export interface ShellLine {
  COMP_LINE?: string | undefined;
  COMP_POINT?: string | undefined;
  SHELL?: string | undefined;
}

/** Answers a shell's script: prints what may follow on its line, for `vd-generate completion-server`. */
export function answerShell(line: ShellLine): void {
  if (line.COMP_LINE === undefined || line.SHELL === undefined) return;
  const shell = getShellFromEnv({ SHELL: line.SHELL });
  const { words, current } = splitLine(line.COMP_LINE, Number(line.COMP_POINT));
  const suggestions = suggest(words, current);
  // In bash and PowerShell an empty answer means files; their scripts take the library's mark for a name.
  const cutsAtEquals = shell === "bash" || shell === "pwsh";
  if (suggestions === "files") {
    if (!cutsAtEquals) logFiles();
    return;
  }
  // These two replace what stands after the `=` of `--sampler=eu`, the others the whole word.
  const start = cutsAtEquals ? current.indexOf("=") + 1 : 0;
  const items = suggestions.map(({ name, description }) => ({ name: name.slice(start), description }));
  if (shell === "bash") for (const { name } of items) console.log(name);
  else log(items, shell);
}

/** The words before the cursor without the program, and what has been typed of the word there. */
export function splitLine(line: string, point: number): { words: string[]; current: string } {
  const typed = Number.isInteger(point) ? line.slice(0, point) : line;
  const words = [...typed.matchAll(/"([^"]*)"?|'([^']*)'?|((?:\\.|[^\s"'])+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!.replace(/\\(.)/g, "$1"),
  );
  const current = /\s$/.test(typed) || words.length < 2 ? "" : words.pop()!;
  return { words: words.slice(1), current };
}
