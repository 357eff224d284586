import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DType, openDevice } from "@vd/kernels-native";
import type { Precision } from "@vd/svd-pipeline";
import { valueError } from "@vd/svd-pipeline/options";
import type { Command } from "commander";
import { noteRates } from "../doctor/rates";
import { machineInfo } from "../io/machine";
import { reasonOf } from "../measure/contenders";
import { PeerProcess } from "../measure/peer-process";
import { type BenchFile, saveBenchFile } from "../measure/report";
import { addPeerLaunches, benchOps } from "../ops/bench-ops";
import { chooseCases } from "../ops/cases";
import { explainOps } from "../ops/explain-ops";
import { readDevice, readPrecision, readThreads, sharedOption } from "../options/shared";
import { integer } from "../options/values";
import type { CommandContext } from "../run";
import { MAX_COUNT, peerScript, type Texts, textOf, withPeer } from "./common";
import { finish, type OutcomeOptions, openBaseline, withOutcome } from "./outcome";

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;

function readOptions(texts: Texts) {
  const count = (flag: string, name: string) => integer(flag, 1, MAX_COUNT)(String(texts[name]));
  const device = readDevice(String(texts.device));
  const precision = readPrecision(textOf(texts, "dtype"), device);
  const threads = readThreads(textOf(texts, "threads"));
  const limitS = texts.limit === undefined ? undefined : count("--limit", "limit");
  const [rounds, repeats] = [count("--rounds", "rounds"), count("--repeats", "repeats")];
  return { device, precision, threads, rounds, repeats, limitS };
}

/** Starts PyTorch beside us, or says why not. */
async function startPyTorch(texts: Texts, device: string, threads: number | undefined) {
  if (texts.peers === false) return { missing: "not asked for", versions: {} };
  const peer = new PeerProcess("pytorch", String(texts.python), [String(texts.peerScript ?? peerScript())]);
  try {
    const { versions } = await peer.request("hello");
    await peer.request("open", { model: "", device, dtype: "float32", threads });
    return { peer, missing: "", versions: versions as Record<string, unknown> };
  } catch (error) {
    peer.stop();
    return { missing: reasonOf(error), versions: {} };
  }
}

async function runOps(pattern: string | undefined, texts: Texts, context: CommandContext): Promise<BenchFile> {
  const { reporter, signal } = context;
  const options = readOptions(texts);
  const { device: kind, threads, precision, rounds, repeats, limitS } = options;
  const limitMs = limitS === undefined ? Number.POSITIVE_INFINITY : 1000 * limitS;
  const cases = chooseCases(pattern, kind);
  const device = openDevice(kind, { threads });
  await device.prepare();
  const { peer, missing, versions } = await startPyTorch(texts, kind, threads);
  const work = await mkdtemp(join(tmpdir(), "vd-bench-"));
  const file: BenchFile = {
    ...{ format: "vd-bench", version: 1, command: "ops", createdAt: new Date().toISOString() },
    ...{ machine: machineInfo(kind), versions, options: { ...options, pattern }, rows: [], tables: {}, notes: [] },
  };
  await noteRates(file, device);
  const stop = () => peer?.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const bench = { device, dtype: DTYPES[precision], rounds, repeats, limitMs, peer, missing, work, reporter, signal };
    await benchOps(cases, bench, async (rows) => {
      file.rows.push(...rows);
      if (typeof texts.json === "string") await saveBenchFile(texts.json, file);
    });
    await addPeerLaunches(cases, bench, file.rows);
    return file;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Prints what computes each case instead of timing it.
 *
 * @throws VdError `attr` beside options for results
 */
async function explain(pattern: string | undefined, texts: Texts, { stdout, signal }: CommandContext): Promise<void> {
  const unfit = ["json", "compare"].find((name) => texts[name] !== undefined);
  if (unfit) throw valueError("--why", `no --${unfit} beside it`, String(texts[unfit]), "It times nothing.");
  const { device: kind, threads, precision } = readOptions(texts);
  const cases = chooseCases(pattern, kind);
  const device = openDevice(kind, { threads });
  await device.prepare();
  await explainOps(cases, { device, dtype: DTYPES[precision], signal }, (text) => stdout.write(`${text}\n`));
}

/** `vd-bench ops [pattern]`. */
export function addOps(program: Command, context: CommandContext): void {
  const command = program
    .command("ops")
    .description("time ops on the models' shapes, over operands that no cache holds, beside PyTorch's")
    .argument("[pattern]", "a part of the names to time")
    .addOption(sharedOption("device", "cpu"))
    .addOption(sharedOption("dtype"))
    .addOption(sharedOption("threads"))
    .option("--rounds <N>", "turns of each contender", "5")
    .option("--repeats <N>", "runs in one turn", "3")
    .option("--limit <SECONDS>", "a contender that has taken this long takes no further turn in a case")
    .option("--no-peers", "ours alone")
    .option("--why", "instead of timing: which kernel computes each op, and why no other does");
  withOutcome(withPeer(command)).action(async (pattern: string | undefined, texts: Texts) => {
    if (texts.why) return explain(pattern, texts, context);
    const outcome = texts as OutcomeOptions;
    const baseline = await openBaseline(outcome);
    await finish(await runOps(pattern, texts, context), baseline, outcome, context);
  });
}
