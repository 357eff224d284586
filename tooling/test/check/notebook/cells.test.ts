import { expect, test } from "vitest";
import { commandsInTexts, stepsOfNotebook } from "../../../check/notebook/cells.mjs";

const cell = (cell_type: string, ...source: string[]) => ({ cell_type, source });

test("a notebook's cells are files, commands and Python", () => {
  const cells = [
    cell("markdown", "# Title\n", "\n", "!not a command"),
    cell("code", "!node --version; npm --version\n", "\n", "!ls"),
    cell("code", "%%writefile /content/a.mjs\n", "let a;\n", "a = 1;"),
    cell("code", "import os\n", "!ls"),
  ];
  expect(stepsOfNotebook({ cells })).toEqual([
    { kind: "shell", command: "node --version; npm --version" },
    { kind: "shell", command: "ls" },
    { kind: "write", path: "/content/a.mjs", text: "let a;\na = 1;\n" },
    { kind: "python", text: "import os\n!ls" },
  ]);
});

test("commands in a notebook's texts are found, without what is said of them", () => {
  const text = ["Make it:\n", "\n", "```sh\n", "make a     # slow\n", "make b && make c\n", "```\n", "`make d`"];
  expect(commandsInTexts({ cells: [cell("markdown", ...text), cell("code", "!ls")] })).toEqual([
    "make a",
    "make b && make c",
  ]);
});
