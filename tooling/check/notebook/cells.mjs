// What a notebook's code cells do, as steps that this machine can take one after the other.

/** What begins a line that IPython hands to a shell. */
const SHELL = /^!/;
/** What begins a cell that IPython writes to a file. */
const WRITE = /^%%writefile (\S+)\n/;

/** The steps of one code cell: a file that is written, lines for a shell, or Python as a whole. */
function stepsOf(source) {
  const path = WRITE.exec(source)?.[1];
  if (path !== undefined) return [{ kind: "write", path, text: `${source.slice(source.indexOf("\n") + 1)}\n` }];
  const lines = source.split("\n").filter((line) => line.trim() !== "");
  if (!lines.every((line) => SHELL.test(line))) return [{ kind: "python", text: source }];
  return lines.map((line) => ({ kind: "shell", command: line.replace(SHELL, "") }));
}

/** Returns the steps of a notebook's code cells, in their order. notebook: parsed JSON. */
export const stepsOfNotebook = ({ cells }) =>
  cells.filter(({ cell_type }) => cell_type === "code").flatMap(({ source }) => stepsOf(source.join("")));

/** Returns the commands in a notebook's texts, which prepare it elsewhere. notebook: parsed JSON. */
export const commandsInTexts = ({ cells }) =>
  cells
    .filter(({ cell_type }) => cell_type === "markdown")
    .flatMap(({ source }) => [...source.join("").matchAll(/```sh\n([\s\S]*?)```/g)])
    .flatMap(([, block]) => block.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
