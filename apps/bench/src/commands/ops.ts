import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineInfo } from "@vd/app-parts";
import { type DeviceKind, type DType, openDevice } from "@vd/kernels-native";
import type { Precision } from "@vd/svd-pipeline";
import { valueError } from "@vd/svd-pipeline/options";
import type { Command } from "commander";
import { noteRates, type Rates } from "../doctor/rates";
import type { Reporter } from "../io/reporter";
import { reasonOf } from "../measure/contenders";
import { PeerProcess } from "../measure/peer-process";
import type { BenchFile } from "../measure/report";
import { saveBenchFile } from "../measure/save";
import { addPeerLaunches, benchOps } from "../ops/bench-ops";
import { chooseCases } from "../ops/cases";
import { explainOps } from "../ops/explain-ops";
import { type OpsTiming, type PlannedCase, planOps, planSentence, planTable } from "../ops/plan-ops";
import {
  ownOption,
  readDevice,
  readNumber,
  readPrecision,
  readThreads,
  sharedOption,
} from "../options/command-options";
import type { CommandContext } from "../run";
import { peerScript, type Texts, textOf, withPeer } from "./common";
import { finish, type OutcomeOptions, openBaseline, withOutcome } from "./outcome";

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;

function readOptions(texts: Texts) {
  const count = (name: "rounds" | "repeats" | "limit") => readNumber(name, String(texts[name]));
  const device = readDevice(String(texts.device));
  const precision = readPrecision(textOf(texts, "dtype"), device);
  const threads = readThreads(textOf(texts, "threads"));
  const limitS = texts.limit === undefined ? undefined : count("limit");
  const [rounds, repeats] = [count("rounds"), count("repeats")];
  return { device, precision, threads, rounds, repeats, limitS };
}

/** PyTorch beside us, if it is asked for and there; otherwise why it is not there. */
interface FoundPeer {
  peer?: PeerProcess;
  missing?: string;
  versions: Record<string, unknown>;
}

async function startPyTorch(texts: Texts, device: string, threads: number | undefined): Promise<FoundPeer> {
  if (texts.peers === false) return { versions: {} };
  const peer = new PeerProcess("pytorch", String(texts.python), [String(texts.peerScript ?? peerScript())]);
  try {
    const { versions } = await peer.request("hello");
    await peer.request("open", { model: "", device, dtype: "float32", threads });
    return { peer, versions: versions as Record<string, unknown> };
  } catch (error) {
    peer.stop();
    return { missing: reasonOf(error), versions: {} };
  }
}

/** Says before any timing what is going to be timed, beside whom, and about how long it takes. */
function tellPlan(plan: readonly PlannedCase[], timing: OpsTiming, missing: string | undefined, reporter: Reporter) {
  if (missing !== undefined) reporter.note(`Without PyTorch: ${missing}; --no-peers leaves it out`);
  reporter.note(planSentence(plan, timing));
}

async function runOps(pattern: string | undefined, texts: Texts, context: CommandContext): Promise<BenchFile> {
  const { reporter, signal } = context;
  const options = readOptions(texts);
  const { device: kind, threads, precision, rounds, repeats, limitS } = options;
  const limitMs = limitS === undefined ? Number.POSITIVE_INFINITY : 1000 * limitS;
  const cases = chooseCases(pattern, kind, textOf(texts, "op"));
  const device = openDevice(kind, { threads });
  await device.prepare();
  const { peer, missing, versions } = await startPyTorch(texts, kind, threads);
  const work = await mkdtemp(join(tmpdir(), "vd-bench-"));
  const file: BenchFile = {
    ...{ format: "vd-bench", version: 1, command: "ops", createdAt: new Date().toISOString() },
    ...{ machine: machineInfo(kind), versions, options: { ...options, pattern }, rows: [], tables: {} },
    notes: missing === undefined ? [] : [`Without PyTorch: ${missing}`],
  };
  const stop = () => peer?.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await noteRates(file, device);
    const common = { dtype: DTYPES[precision], rounds, repeats, limitMs };
    const timing = { ...common, device: kind, contenders: contendersOn(kind, peer !== undefined), rates: file.rates };
    tellPlan(planOps(cases, timing), timing, missing, reporter);
    const bench = { ...common, everyVariant: texts.variants === true, device, peer, work, reporter, signal };
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

function contendersOn(kind: DeviceKind, hasPeer: boolean): string[] {
  const names = hasPeer ? ["ours", "PyTorch"] : ["ours"];
  return kind === "cuda" ? names.flatMap((name) => [name, `${name} as a graph`]) : names;
}

/** Prints what would be timed, and about how long that takes. PyTorch is counted if it is asked for. */
async function printPlan(pattern: string | undefined, texts: Texts, { stdout }: CommandContext): Promise<void> {
  const { device: kind, threads, precision, rounds, repeats, limitS } = readOptions(texts);
  const cases = chooseCases(pattern, kind, textOf(texts, "op"));
  const device = openDevice(kind, { threads });
  await device.prepare();
  const found: { rates?: Rates; notes: string[] } = { notes: [] };
  await noteRates(found, device);
  const limitMs = limitS === undefined ? Number.POSITIVE_INFINITY : 1000 * limitS;
  const contenders = contendersOn(kind, texts.peers !== false);
  const timing = { device: kind, dtype: DTYPES[precision], rounds, repeats, limitMs, contenders, rates: found.rates };
  const plan = planOps(cases, timing);
  stdout.write(`${planTable(plan)}\n\n${planSentence(plan, timing)}\n`);
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
  const cases = chooseCases(pattern, kind, textOf(texts, "op"));
  const device = openDevice(kind, { threads });
  await device.prepare();
  await explainOps(cases, { device, dtype: DTYPES[precision], signal }, (text) => stdout.write(`${text}\n`));
}

/** `vd-bench ops [pattern]`. */
export function addOps(program: Command, context: CommandContext): void {
  const command = program
    .command("ops")
    .description("time ops on the models' shapes, over operands that no cache holds, beside PyTorch's")
    .argument("[pattern]", "a part of the names to time; without it all but what takes minutes on a CPU")
    .addOption(sharedOption("device", "cpu"))
    .addOption(sharedOption("dtype"))
    .addOption(sharedOption("threads"))
    .addOption(ownOption("rounds"))
    .addOption(ownOption("repeats"))
    .addOption(ownOption("limit"))
    .addOption(ownOption("usePeers"))
    .addOption(ownOption("variants"))
    .addOption(ownOption("op"))
    .addOption(ownOption("dryRun"))
    .addOption(ownOption("why"));
  withOutcome(withPeer(command)).action(async (pattern: string | undefined, texts: Texts) => {
    if (texts.why) return explain(pattern, texts, context);
    if (texts.dryRun) return printPlan(pattern, texts, context);
    const outcome = texts as OutcomeOptions;
    const baseline = await openBaseline(outcome);
    await finish(await runOps(pattern, texts, context), baseline, outcome, context);
  });
}
