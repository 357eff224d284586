import { dirname } from "node:path";
import { requireFolder } from "@vd/tensor";
import type { Command } from "commander";
import { firstLaunch } from "../measure/e2e";
import { measure } from "../measure/measure";
import { type MeasureOptions, PARTS, PEER_MODES, VAE_CASES } from "../measure/options";
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

/**
 * Options of everything that runs a model folder.
 *
 * @throws VdError `attr`
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
    cases: texts.cases === undefined ? undefined : choices("--cases", VAE_CASES)(text("cases")),
    contenders: texts.contenders === undefined ? undefined : text("contenders").split(","),
    reference: texts.reference !== false,
    threads: readThreads(textOf(texts, "threads")),
    image: texts.image === undefined ? undefined : text("image"),
    causalModel: texts.causalModel === undefined ? undefined : text("causalModel"),
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
      await requireFolder(dirname(options.output!), "--output");
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
