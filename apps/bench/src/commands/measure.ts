import { existsSync } from "node:fs";
import { VdError } from "@vd/kernels-native";
import { checkPlace } from "@vd/tensor";
import type { Command } from "commander";
import { RANDOM_WEIGHTS } from "../measure/causal-vae";
import { firstLaunch } from "../measure/e2e";
import { measure } from "../measure/measure";
import { type MeasureOptions, PARTS, PEER_MODES, VAE_CASES } from "../measure/options";
import { checkCheckout } from "../measure/seedvr-peer";
import { LAUNCH_LINE } from "../measure/start";
import { rowsTable } from "../measure/table";
import {
  ownOption,
  readDevice,
  readFrameSize,
  readFrames,
  readLayers,
  readNumber,
  readPrecision,
  readSteps,
  readThreads,
  requiredOption,
  sharedOption,
} from "../options/command-options";
import { choices } from "../options/values";
import type { CommandContext } from "../run";
import { peerScript, type Texts, textOf, withPeer } from "./common";

const isCausal = (name: string) => name.startsWith("causal-");

/** The cases that are asked for. @throws VdError `attr` for the causal autoencoder's own without one: nothing would be measured */
function readCases(typed: string, causalModel: string | undefined): readonly string[] {
  const cases = choices("--cases", VAE_CASES)(typed);
  // All of them is what nobody typed: those that there is a model for are meant.
  if (causalModel !== undefined || cases.length === VAE_CASES.length || !cases.some(isCausal)) return cases;
  throw new VdError({
    ...{ code: "attr", where: "--cases", expected: "--causal-model for cases of the causal autoencoder" },
    ...{ got: cases.filter(isCausal).join(", "), hint: "Give a model, or --causal-model random." },
  });
}

/** @throws VdError `io` for a model that is not there: before anything else is measured */
function readCausalModel(path: string): string {
  if (path === RANDOM_WEIGHTS || existsSync(path)) return path;
  const expected = `a file or folder that exists, or ${RANDOM_WEIGHTS}`;
  throw new VdError({ code: "io", where: "--causal-model", expected, got: path, hint: "Check the path." });
}

/** @throws VdError `attr` where an option of the causal autoencoder is given without one */
function requireCausalModel(where: string, what: string, { causalModel }: Texts): void {
  if (causalModel !== undefined) return;
  const hint = "Give a model, or --causal-model random.";
  throw new VdError({ code: "attr", where, expected: `--causal-model too, ${what}`, got: "none", hint });
}

/** The limits in GiB. @throws VdError `attr` for what are no positive numbers, or without the autoencoder that they are for */
function readCausalLimits(typed: string, texts: Texts): readonly number[] {
  requireCausalModel("--causal-limit", "which is called within it", texts);
  return typed.split(",").map((limit) => {
    const gibibytes = limit.trim() === "" ? Number.NaN : Number(limit);
    if (gibibytes > 0 && Number.isFinite(gibibytes)) return gibibytes;
    const expected = "positive numbers of GiB, such as 8.6 or 5,8.6";
    throw new VdError({ code: "attr", where: "--causal-limit", expected, got: typed });
  });
}

/** @throws VdError `io` for a folder that is no checkout, `attr` without the autoencoder beside which it would run */
function readSeedvr(folder: string, texts: Texts): MeasureOptions["seedvr"] {
  requireCausalModel("--seedvr", "beside which it runs", texts);
  const { peerScript: script } = texts;
  return { folder: checkCheckout(folder), script: script === undefined ? peerScript("seedvr_vae") : String(script) };
}

/**
 * Options of everything that runs a model folder.
 *
 * @throws VdError `attr`, `io`
 */
export function readMeasureOptions(texts: Texts): MeasureOptions {
  const text = (name: string) => String(texts[name]);
  const device = readDevice(text("device"));
  return {
    model: text("model"),
    output: texts.output === undefined ? undefined : text("output"),
    device,
    precision: readPrecision(textOf(texts, "dtype"), device),
    ...readLayers(texts),
    distilled: texts.distilled === true ? true : undefined,
    numFrames: readFrames(text("frames")),
    ...readFrameSize(text("size")),
    steps: readSteps(text("steps")),
    parts: choices("--parts", PARTS)(text("parts")),
    peers: choices("--peers", PEER_MODES)(text("peers")),
    rounds: readNumber("rounds", text("rounds")),
    e2eRounds: readNumber("e2eRounds", text("e2eRounds")),
    repeats: readNumber("repeats", text("repeats")),
    seed: readNumber("inputSeed", text("seed")),
    python: text("python"),
    peerScript: texts.peerScript === undefined ? peerScript() : text("peerScript"),
    alone: texts.alone === true,
    limitSeconds: texts.limit === undefined ? undefined : readNumber("limit", text("limit")),
    cases: texts.cases === undefined ? undefined : readCases(text("cases"), textOf(texts, "causalModel")),
    contenders: texts.contenders === undefined ? undefined : text("contenders").split(","),
    reference: texts.reference !== false,
    threads: readThreads(textOf(texts, "threads")),
    image: texts.image === undefined ? undefined : text("image"),
    causalModel: texts.causalModel === undefined ? undefined : readCausalModel(text("causalModel")),
    causalLimits: texts.causalLimit === undefined ? undefined : readCausalLimits(text("causalLimit"), texts),
    seedvr: texts.seedvr === undefined ? undefined : readSeedvr(text("seedvr"), texts),
  };
}

/** Options of every command that runs a model folder. */
function withModelOptions(command: Command): Command {
  return command
    .addOption(requiredOption("model"))
    .addOption(sharedOption("device", "cuda"))
    .addOption(sharedOption("dtype"))
    .addOption(sharedOption("precision"))
    .addOption(sharedOption("calibration"))
    .addOption(sharedOption("convolutions"))
    .addOption(sharedOption("frames", "25"))
    .addOption(sharedOption("size", "1024x576"))
    .addOption(sharedOption("threads"))
    .addOption(ownOption("image"));
}

/** `vd-bench measure --model DIR -o out.json`. */
export function addMeasure(program: Command, { reporter, signal, self, stdout }: CommandContext): void {
  withPeer(withModelOptions(program.command("measure")))
    .description("run ours and diffusers on one model, turn by turn: times, memory, differences")
    .requiredOption("-o, --output <FILE>", "the results as JSON, written after every part")
    .addOption(sharedOption("steps", "25"))
    .addOption(ownOption("parts"))
    .addOption(ownOption("peers", "eager,compile"))
    .addOption(ownOption("rounds"))
    .addOption(ownOption("repeats"))
    .addOption(ownOption("e2eRounds"))
    .addOption(ownOption("inputSeed"))
    .addOption(ownOption("reference"))
    .action(async (texts: Texts) => {
      const options = readMeasureOptions(texts);
      await checkPlace(options.output!, { where: "--output" });
      const file = await measure(options, { reporter, signal, self });
      stdout.write(`${rowsTable(file.rows)}\n${options.output}\n`);
    });
}

/** What `measure` starts to see how long a fresh process takes; not meant for people. */
export function addFirstLaunch(program: Command, { stdout }: CommandContext): void {
  withModelOptions(program.command("first-launch", { hidden: true })).action(async (texts: Texts) => {
    const defaults = { steps: "2", parts: "none", peers: "none", rounds: "1", e2eRounds: "1" };
    const options = readMeasureOptions({ ...defaults, repeats: "1", seed: "0", python: "", peerScript: "", ...texts });
    await firstLaunch(options, options.image ?? "", () => stdout.write(`${LAUNCH_LINE}\n`));
  });
}
