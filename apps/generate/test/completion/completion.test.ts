import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { samplerNames } from "@vd/svd-pipeline";
import { describe, expect, it } from "vitest";
import { Language, Parser } from "web-tree-sitter";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { splitLine } from "../../src/completion/server";
import { suggest } from "../../src/completion/suggest";
import { SHELLS } from "../../src/completion/tables";
import { runCommand } from "../support/harness";

/** Names that are suggested, or `files`. */
function names(line: string): readonly string[] | "files" {
  const { words, current } = splitLine(`vd-generate ${line}`, 1000);
  const found = suggest(words, current);
  return found === "files" ? found : found.map(({ name }) => name);
}

const EULERS = samplerNames.filter((name) => name.startsWith("eu"));
const hasShell = (name: string) => spawnSync(name, ["--version"]).status === 0;

/** Lines that a shell prints for `ask`, where `vd-generate` is on its path and its script was read. before: runs first. */
async function completions(
  shell: (typeof SHELLS)[number],
  words: string[],
  ask: string,
  before = "",
): Promise<string[]> {
  const bin = temporaryFolder();
  const script = join(bin, "script");
  writeFileSync(script, (await runCommand(["completion", shell])).stdout);
  const cli = fileURLToPath(new URL("../support/fake-cli.ts", import.meta.url));
  const tsx = fileURLToPath(import.meta.resolve("tsx"));
  const program = join(bin, "vd-generate");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" --import "file://${tsx}" "${cli}" 0 "$@"\n`);
  chmodSync(program, 0o755);
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const said = spawnSync(shell, [...words, `${before}\n. ${script}\n${ask}`], { encoding: "utf8", env });
  expect(said.stderr).toBe("");
  return said.stdout.trim().split("\n");
}

describe("suggest", () => {
  it.each([
    ["--sampler ", samplerNames],
    ["--sampler eu", samplerNames.filter((name) => name.startsWith("eu"))],
    ["--sampler=dd", ["--sampler=ddim", "--sampler=ddpm"]],
    ["--device ", ["cpu", "cuda", "auto"]],
    ["--dtype fp", ["fp32", "fp16"]],
    ["--st", ["--steps", "--step-noise"]],
    ["--no-o", ["--no-overwrite"]],
    ["generate --sam", ["--sampler"]],
    ["mod", ["models"]],
    ["models ", ["list", "pull", "rm"]],
    ["models p", ["pull"]],
    ["models pull --de", ["--device"]],
    ["models pull --device cu", ["cuda"]],
    ["models list --", ["--all", "--json", "--help"]],
    ["completion ", [...SHELLS]],
    ["completion z", ["zsh"]],
    ["--seed ", []],
    ["--seed 7 --siz", ["--size"]],
    ["models list ", []],
  ])("%j", (line, expected) => expect(names(line)).toEqual(expected));

  it.each(["", "cat.p", "-o ", "--output=a", "-m models/", "--seed 7 ca", "--preview=x", "--json ", "models pull x"])(
    "%j: files",
    (line) => expect(names(line)).toBe("files"),
  );

  it("leaves words that follow the picture to nobody", () => expect(names("cat.png ")).toEqual([]));

  it("offers every option of the help", async () => {
    const help = (await runCommand(["--help"])).stdout.split("Commands:")[0]!;
    const flags = new Set(help.match(/--[a-z][a-z-]*/g)!.filter((flag) => flag !== "--version"));
    expect(new Set(names("--"))).toEqual(flags);
  });
});

describe("splitLine", () => {
  it.each([
    ["vd-generate a b", 100, ["a"], "b"],
    ["vd-generate a b ", 100, ["a", "b"], ""],
    ["vd-generate", 100, [], ""],
    ["vd-generate --seed 7 --sam --json", 26, ["--seed", "7"], "--sam"],
    ["vd-generate 'a b' \"c d\" e\\ f g", 100, ["a b", "c d", "e f"], "g"],
  ])("%j at %d", (line, point, words, current) => expect(splitLine(line, point)).toEqual({ words, current }));
});

describe("vd-generate completion", () => {
  it.each(SHELLS)("prints a script for %s that names the program and its short name", async (shell) => {
    const { status, stdout, stderr } = await runCommand(["completion", shell]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain(shell === "powershell" ? "$Program completion-server" : "vd-generate completion-server");
    for (const name of ["vd-generate", "vd"]) expect(stdout).toContain(`###-begin-${name}-completion-###`);
  });

  it.each([
    [["completion"], "[SHELL] expected a word, got none"],
    [["completion", "tcsh"], "[SHELL] expected one of bash, zsh, fish, powershell"],
    [["completion", "zsh", "fish"], "[SHELL] expected one, got 2: zsh fish"],
  ])("%j is wrong usage", async (argv, words) => {
    expect(await runCommand(argv)).toMatchObject({ status: 2, stderr: expect.stringContaining(words) });
  });

  it.runIf(process.platform === "linux")("completes in a real bash", async () => {
    const ask = `COMP_LINE="vd --sampler eu" COMP_POINT=15 COMP_WORDS=(vd --sampler eu) COMP_CWORD=2
      _vd_completion; printf '%s\\n' "\${COMPREPLY[@]}"`;
    expect(await completions("bash", ["--norc", "-c"], ask)).toEqual(EULERS);
  });

  it.runIf(hasShell("zsh"))("completes in a real zsh", async () => {
    // What the line editor would have set, and what it would have been shown.
    const ask = `_describe() { print -rl -- \${(P)2} }
      BUFFER="vd --sampler eu"; CURSOR=15; words=(vd --sampler eu); CURRENT=3; _vd_completion`;
    expect(await completions("zsh", ["-f", "-c"], ask, "autoload -Uz compinit; compinit -u -D")).toEqual(EULERS);
  });

  it.runIf(hasShell("fish"))("completes in a real fish", async () => {
    // Until 3.7 fish knows no cursor outside of its line editor.
    const ask = `function commandline; test $argv[1] = -C; and echo 15; or printf '%s\\n' vd --sampler eu; end
      _vd_completion`;
    expect(await completions("fish", ["--no-config", "-c"], ask)).toEqual(EULERS);
  });

  it("is right PowerShell by its grammar", async () => {
    await Parser.init();
    const grammar = fileURLToPath(import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm"));
    const parser = new Parser().setLanguage(await Language.load(grammar));
    const { stdout } = await runCommand(["completion", "powershell"]);
    const isRight = (script: string) => parser.parse(script)?.rootNode.hasError === false;
    expect(isRight(stdout)).toBe(true);
    expect(isRight(stdout.replace("finally {", "finally {{"))).toBe(false);
  });
});
