import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { samplerNames } from "@vd/svd-pipeline";
import { describe, expect, it } from "vitest";
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
    const folder = temporaryFolder();
    const bin = join(folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "vd.bash"), (await runCommand(["completion", "bash"])).stdout);
    const cli = fileURLToPath(new URL("../support/fake-cli.ts", import.meta.url));
    const tsx = fileURLToPath(import.meta.resolve("tsx"));
    const program = join(bin, "vd-generate");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" --import "file://${tsx}" "${cli}" 0 "$@"\n`);
    chmodSync(program, 0o755);
    const ask = `. ${bin}/vd.bash; COMP_LINE="vd --sampler eu" COMP_POINT=15 COMP_WORDS=(vd --sampler eu) COMP_CWORD=2
      _vd_completion; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const PATH = `${bin}${delimiter}${process.env.PATH}`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", ask], {
      encoding: "utf8",
      env: { ...process.env, PATH },
    });
    expect(stdout.trim().split("\n"), stderr).toEqual(samplerNames.filter((name) => name.startsWith("eu")));
  });
});
