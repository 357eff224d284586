import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "examples/README.md"],
  ...readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
  ...["bench", "generate", "live", "studio"].map((name) => `apps/${name}/README.md`),
];
/** Words that choose a command of a program; each command has options of its own. */
const COMMANDS: Readonly<Record<string, RegExp>> = {
  bench: /^[a-z][a-z0-9-]*/,
  generate: /^(models( (list|pull|rm))?|completion)(?=\s|$)/,
  live: /^(bench|drift)(?=\s|$)/,
  studio: /^(worker|keys (add|list|rm|secret))\b/,
};

interface CommandLine {
  page: string;
  /** Name of the program and of its command. */
  command: string;
  flags: string[];
}

/** Every command line of our programs on a page, in blocks and in sentences. */
function commandLines(page: string): CommandLine[] {
  const text = readFileSync(join(root, page), "utf8").replaceAll("\\\n", " ");
  const found = text.matchAll(
    /(?:(?:npx -y )?pnpm(?:@[\d.]+)? |\bvd-)(bench|generate|live|studio)(?= |\n|`)([^`\n|#>]*(?:\n--[^`\n]*)?)/g,
  );
  return [...found].map(([, program, words]) => {
    const command = `${program} ${COMMANDS[program!]!.exec(words!.trim())?.[0] ?? ""}`.trim();
    return {
      page,
      command,
      flags: [...words!.matchAll(/(?<=\s)(--[a-z][\w-]*|-[a-zA-Z])(?=[\s=,.]|$)/g)].map(([, flag]) => flag!),
    };
  });
}

const run = promisify(execFile);
const helps = new Map<string, Promise<string>>();

/** What a command's help says. */
function helpOf(command: string): Promise<string> {
  const [program, ...words] = command.split(" ");
  const cli = join(root, "apps", program!, "dist/cli.js");
  const help = helps.get(command) ?? run(process.execPath, [cli, ...words, "--help"]).then(({ stdout }) => stdout);
  helps.set(command, help);
  return help;
}

test.each(PAGES)("%s names options that the commands have", async (page) => {
  for (const { command, flags } of commandLines(page)) {
    const help = await helpOf(command);
    const unknown = flags.filter((flag) => !new RegExp(`(^|[\\s,])${flag}(?=[\\s,=<[]|$)`, "m").test(help));
    expect(unknown, command).toEqual([]);
  }
});

test("enough of them are looked at", () => {
  const all = PAGES.flatMap(commandLines);
  expect(all.length).toBeGreaterThan(60);
  expect(all.filter(({ flags }) => flags.length > 0).length).toBeGreaterThan(40);
});
