import { machineInfo } from "@vd/app-parts";
import { VdError } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { kindOfDevice } from "@vd/tensor";
import type { Command } from "commander";
import { measureDevices } from "../measure/devices";
import { measure } from "../measure/measure";
import { loadOptionsOf } from "../measure/options";
import type { BenchFile } from "../measure/report";
import { ownOption, readDevices, sharedOption } from "../options/command-options";
import type { CommandContext } from "../run";
import { bundledModel, type Texts, textOf, withGenerateOptions, withPeer } from "./common";
import { readMeasureOptions } from "./measure";
import { finish, type OutcomeOptions, openBaseline, withOutcome } from "./outcome";

/** Commands that measure one part of a model. */
const PART_COMMANDS = {
  unet: "time one denoiser call on both guidance rows",
  vae: "time the picture's encoding and the decoding of all frames, and what each optimisation of the autoencoder gains",
  clip: "time the image encoder",
  e2e: "time a picture file to frames in host memory: 14 frames in 10 steps and 25 in 25, or what is asked for",
} as const;

/** Frames and steps that the origin projects measured end to end. */
const ORIGIN_RUNS = [
  { frames: "14", steps: "10" },
  { frames: "25", steps: "25" },
];

/** What is timed of a distilled model: peers take as many steps of another kind, so that there are none. */
const distilledRun = ({ steps = "4" }: Texts): Texts => ({ steps, peers: "none" });

/**
 * The model's own size and length where none is typed.
 *
 * @throws VdError `io` or `weights`
 */
async function withModelDefaults(texts: Texts): Promise<Texts> {
  const model = String(texts.model ?? bundledModel());
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads: 1 });
  const { width, height, numFrames } = pipeline.defaults;
  pipeline.dispose();
  const typed = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined));
  return { frames: String(numFrames), size: `${width}x${height}`, steps: "25", ...typed, model };
}

/** Adds the options of a generation and of the layers' precision. */
const withPartOptions = (command: Command): Command =>
  withGenerateOptions(withOutcome(command))
    .addOption(sharedOption("precision"))
    .addOption(sharedOption("calibration"))
    .addOption(sharedOption("convolutions"));

/**
 * A generation on several devices beside the first of them.
 *
 * @throws VdError `attr` for a single device
 */
async function onDevices(devices: readonly string[], texts: Texts, context: CommandContext): Promise<BenchFile> {
  if (devices.length < 2)
    throw new VdError({ code: "attr", where: "--devices", expected: "two devices or more", got: devices.join(",") });
  const device = kindOfDevice(devices[0]!);
  const options = readMeasureOptions(await withModelDefaults({ ...texts, device }));
  return { ...(await measureDevices(options, devices, context)), command: "e2e" };
}

async function runPart(name: keyof typeof PART_COMMANDS, texts: Texts, context: CommandContext): Promise<BenchFile> {
  const { reporter, signal, self } = context;
  const parts = name === "vae" ? "encode,vae" : name;
  const common = { seed: "0", output: texts.json, parts };
  const isDistilled = texts.distilled === true;
  const asked = isDistilled ? distilledRun(texts) : {};
  const devices = readDevices(textOf(texts, "devices"));
  if (devices) return onDevices(devices, { ...texts, ...common, ...asked }, context);
  const isOrigin = name === "e2e" && !isDistilled && texts.frames === undefined && texts.steps === undefined;
  const runs: Texts[] = isOrigin ? ORIGIN_RUNS : [asked];
  let all: BenchFile | undefined;
  for (const run of runs) {
    const options = readMeasureOptions(await withModelDefaults({ ...texts, ...common, ...run }));
    const file = await measure(options, { reporter, signal, self });
    file.command = name;
    file.rows.unshift(...(all?.rows ?? []));
    all = file;
  }
  return all!;
}

/** `vd-bench unet`, `vae`, `clip`, `e2e`. */
export function addParts(program: Command, context: CommandContext): void {
  for (const [name, description] of Object.entries(PART_COMMANDS) as [keyof typeof PART_COMMANDS, string][]) {
    const command = withPeer(withPartOptions(program.command(name).description(description)))
      .addOption(ownOption("peers"))
      .addOption(ownOption("peer"))
      .addOption(ownOption("rounds"))
      .addOption(ownOption("repeats"))
      .addOption(ownOption("e2eRounds"))
      .addOption(ownOption("reference"));
    if (name === "e2e") command.addOption(sharedOption("devices")).addOption(ownOption("distilled"));
    if (name === "vae") {
      for (const option of ["causalModel", "causalLimit", "seedvr", "alone", "limit", "cases", "contenders"] as const)
        command.addOption(ownOption(option));
    }
    command.action(async (given: Texts) => {
      const texts = given.peer === undefined ? given : { ...given, peers: given.peer };
      const outcome = texts as OutcomeOptions;
      const baseline = await openBaseline(outcome);
      await finish(await runPart(name, texts, context), baseline, outcome, context);
    });
  }
}

/** Rows of what each stage of a generation takes, from its plan; nothing is run. */
async function planRows(texts: Texts): Promise<BenchFile> {
  const options = readMeasureOptions({
    ...{ parts: "none", peers: "none", rounds: "1", e2eRounds: "1", repeats: "1", seed: "0", python: "" },
    ...(await withModelDefaults(texts)),
  });
  const { model, device, numFrames, width, height, steps } = options;
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { ...loadOptionsOf(options), device });
  try {
    const plan = await pipeline.plan({ image: new Uint8Array(), numFrames, width, height, steps });
    const name = `${numFrames} frames ${width}x${height}`;
    const row = (stage: string, peakBytes: number) => ({
      ...{ suite: "memory", name: `${stage}, ${name}`, contender: "ours", peakBytes, reason: "planned, not run" },
    });
    const rows = [
      ...plan.stages.map((stage) => ({ ...row(stage.name, stage.peakBytes), flops: stage.flops * stage.runs })),
      row("largest stage", plan.peakBytes),
      row("weights as stored", plan.weightBytes),
    ];
    return {
      ...{ format: "vd-bench", version: 1, command: "memory", createdAt: new Date().toISOString() },
      ...{ machine: machineInfo(device), versions: {}, options: { ...options, model: undefined }, rows, tables: {} },
      notes: [],
    };
  } finally {
    pipeline.dispose();
  }
}

/** `vd-bench memory`. */
export function addMemory(program: Command, context: CommandContext): void {
  const command = program.command("memory").description("what each stage of a generation takes, before it is run");
  withPartOptions(command).action(async (texts: Texts) => {
    const outcome = texts as OutcomeOptions;
    const baseline = await openBaseline(outcome);
    await finish(await planRows(texts), baseline, outcome, context);
  });
}
