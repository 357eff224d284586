import { writeWholeFile } from "@vd/tensor";
import type { Command } from "commander";
import type { Check } from "../doctor/check";
import { cpuCheck, gpuChecks, memoryCheck, modelCheck, nodeCheck, peerCheck, systemCheck } from "../doctor/checks";
import { rateChecks } from "../doctor/rate-checks";
import { alignColumns } from "../measure/table";
import { ownOption, readThreads, sharedOption } from "../options/command-options";
import type { CommandContext } from "../run";
import { bundledModel, type Texts, textOf } from "./common";

/** Everything that a new user should know of a machine, one thing after the other. */
async function* examine(texts: Texts): AsyncGenerator<Check> {
  yield nodeCheck();
  yield systemCheck();
  yield cpuCheck();
  yield memoryCheck();
  const threads = readThreads(textOf(texts, "threads"));
  yield* await rateChecks("cpu", threads);
  const gpus = await gpuChecks();
  yield* gpus;
  if (gpus.some(({ verdict }) => verdict === "ok")) yield* await rateChecks("cuda");
  yield await modelCheck(String(texts.model ?? bundledModel()));
  yield peerCheck(String(texts.python));
}

/** `vd-bench doctor`. */
export function addDoctor(program: Command, { stdout, reporter, signal, setStatus }: CommandContext): void {
  program
    .command("doctor")
    .description(
      "look at this machine: what works, how fast it is, and what to do; exit status 1 if something is slow or failed",
    )
    .addOption(ownOption("model"))
    .addOption(sharedOption("threads"))
    .addOption(ownOption("python"))
    .addOption(ownOption("json"))
    .action(async (texts: Texts) => {
      const checks: Check[] = [];
      for await (const check of examine(texts)) {
        signal.throwIfAborted();
        checks.push(check);
        reporter.note(`${check.name} looked at`);
      }
      const lines = checks.map(({ name, verdict, found, advice }) => [
        verdict,
        name,
        advice ? `${found.replace(/\.$/, "")}. ${advice}` : found,
      ]);
      const width = Math.max(...lines.map(([, , text]) => text!.length));
      stdout.write(`${alignColumns(lines.map(([a, b, text]) => [a!, b!, text!.padEnd(width)]))}\n`);
      if (typeof texts.json === "string") await writeWholeFile(texts.json, `${JSON.stringify(checks, null, 1)}\n`);
      if (checks.some(({ verdict }) => verdict === "slow" || verdict === "failed")) setStatus(1);
    });
}
