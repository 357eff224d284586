import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import { checkPlace, writeWholeFile } from "@vd/tensor";
import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { emptyHistory, type Measurement, readHistory } from "../history/history-file";
import { historyPath, REPORTS } from "../history/places";
import { formatMs } from "../measure/table";
import { ownOption, readSteps, sharedOption } from "../options/command-options";
import { choice } from "../options/values";
import { CARDS, type Card } from "../roofline/cards";
import { liveWork } from "../roofline/live-work";
import { type Measured, measuredOf } from "../roofline/measured";
import { ROOFLINE_MODELS, type RooflineModel } from "../roofline/models";
import { type PartPrediction, predictOps, predictPart, predictWhole } from "../roofline/predict";
import { cardsTable, cardText, opsTable, partsTable } from "../roofline/table";
import type { CommandContext } from "../run";

interface RooflineOptions {
  card?: string;
  model: string;
  steps: string;
  measured?: string[];
  ops?: boolean;
  json?: string;
}

/** What was measured in a checkout: parts and ops of an H200, and there too the kernels that other cards use. */
const MEASURED = ["model-h200", "generation-h200", "ops-h200", "mma-h200"].map((name) => `${REPORTS}/gpu/${name}.json`);
const PLANNERS = `${REPORTS}/planners.json`;

/** Which kernel planners choose on Hopper for each case of ops; empty outside of a checkout. */
async function hopperVariants(): Promise<Map<string, string>> {
  if (!existsSync(PLANNERS)) return new Map();
  const { rows } = JSON.parse(await readFile(PLANNERS, "utf8")) as {
    rows: { name: string; variants: { variant: string; architectures: string[] }[] }[];
  };
  return new Map(
    rows.flatMap(({ name, variants }) => {
      const own = variants.find(({ architectures }) => architectures.includes("sm_90a"));
      return own ? [[name, own.variant] as const] : [];
    }),
  );
}

/**
 * Reads what was measured.
 *
 * @throws VdError `io`, `unsupported`
 */
async function readMeasured(given: readonly string[] | undefined): Promise<Measured> {
  const paths = given ?? MEASURED;
  if (given === undefined && !paths.every((path) => existsSync(path))) {
    const hint = "Run this in a checkout, or name results of `bench measure`, `bench ops` and `bench ops --variants`.";
    throw new VdError({ code: "io", where: "--measured", expected: paths.join(", "), got: "not all here", hint });
  }
  return measuredOf(await Promise.all(paths.map(readBenchFile)), await hopperVariants());
}

/** The smallest median of a suite in what was measured of such a card. */
function bestUs(measurements: readonly Measurement[], suite: string, name?: string): number | undefined {
  const rows = measurements.flatMap((each) => each.rows).filter((row) => row.suite === suite && row.medianUs);
  const fitting = rows.filter((row) => name === undefined || row.name.includes(name)).map((row) => row.medianUs!);
  return fitting.length > 0 ? Math.min(...fitting) : undefined;
}

/** What a report of `vd-live bench` on such a card has for a model: the median of a frame. */
async function liveUs(card: Card, model: string): Promise<number | undefined> {
  const path = `${REPORTS}/gpu/live-${model}-${card.id}.json`;
  if (!existsSync(path)) return undefined;
  const { machine, frameMs } = JSON.parse(await readFile(path, "utf8")) as {
    machine?: { device?: string };
    frameMs?: { p50?: number };
  };
  return card.names.includes(machine?.device ?? "") && frameMs?.p50 !== undefined ? frameMs.p50 * 1e3 : undefined;
}

/** Parts of a generation in their order, with how often each runs. */
const SVD_PARTS = (steps: number) => ({ clip: 1, encode: 1, unet: steps, vae: 1 });

/** How far off the same calculation is where the model was measured; empty for a model or card that it says nothing about. */
async function checkText(card: Card, model: RooflineModel, steps: number, measured: Measured): Promise<string[]> {
  if (card === measured.card) return [];
  const { parts, wholeUs, name } = await predict(measured.card, model, steps, measured);
  if (wholeUs === undefined) return [];
  const { expectedUs } = predictWhole(parts);
  const ratio = (wholeUs / expectedUs).toFixed(2);
  const times = `${formatMs(expectedUs)} ms for ${name} and ${formatMs(wholeUs)} ms were measured`;
  return [`For the ${measured.card.id} the same calculation says ${times}, ${ratio} times that.`];
}

async function predict(card: Card, model: RooflineModel, steps: number, measured: Measured) {
  if (model !== "svd-xt") {
    const work = await liveWork(model);
    const parts: PartPrediction[] = [...work].map(([part, rows]) => predictPart(card, measured, part, 1, rows));
    return { parts, wholeUs: await liveUs(card, model), name: "one frame" };
  }
  const history = await readHistory(historyPath(REPORTS, "cuda"), emptyHistory());
  const own = history.measurements.filter(({ device }) => card.names.includes(device));
  const parts = Object.entries(SVD_PARTS(steps)).map(([part, runs]): PartPrediction => {
    const work = measured.parts.get(part) ?? [];
    return { ...predictPart(card, measured, part, runs, work), measuredUs: bestUs(own, part) };
  });
  return { parts, wholeUs: bestUs(own, "e2e", ` ${steps} steps`), name: `all, ${steps} steps` };
}

/** Whether the whole fits, by what it took where it was measured. */
function memoryText(card: Card, measured: Measured): string {
  const bytes = Math.max(...measured.rows.filter(({ suite }) => suite === "e2e").map((row) => row.peakBytes ?? 0), 0);
  if (bytes === 0) return "";
  const gibibytes = bytes / 2 ** 30;
  const fits = gibibytes < card.gibibytes ? "which this card has" : 'which this card has not: memory "low" takes less';
  return `On the ${measured.card.id} a whole run took ${gibibytes.toFixed(1)} GiB, ${fits}.`;
}

/** `vd-bench roofline [--card NAME]`. */
export function addRoofline(program: Command, { stdout }: CommandContext): void {
  program
    .command("roofline")
    .description(
      "what to expect of a card, by calculation from its data sheet and what kernels reach where they were measured",
    )
    .addOption(ownOption("card"))
    .addOption(ownOption("planOf"))
    .addOption(sharedOption("steps", "25"))
    .addOption(ownOption("measured"))
    .addOption(ownOption("ops"))
    .addOption(ownOption("json"))
    .action(async (options: RooflineOptions) => {
      if (options.card === undefined) {
        stdout.write(`${cardsTable()}\n`);
        return;
      }
      const ids = CARDS.map(({ id }) => id);
      const card = CARDS[ids.indexOf(choice("--card", ids)(options.card))]!;
      const model = choice("--model", ROOFLINE_MODELS)(options.model);
      const steps = readSteps(options.steps);
      if (options.json !== undefined) await checkPlace(options.json, { where: "--json" });
      const measured = await readMeasured(options.measured);
      const { parts, wholeUs, name } = await predict(card, model, steps, measured);
      const whole = { ...predictWhole(parts), measuredUs: wholeUs, name };
      const ops = predictOps(card, measured);
      const text = [
        cardText(card),
        `Calculated, not measured: ${model} by the card's data sheet and what kernels reach on the ${measured.card.id}.`,
        ...["", partsTable(parts, whole)],
        "",
        ...(await checkText(card, model, steps, measured)),
        ...(model === "svd-xt" ? [memoryText(card, measured)] : []),
        ...(options.ops ? ["", opsTable(ops, measured.card)] : []),
      ];
      stdout.write(`${text.join("\n")}\n`);
      if (options.json === undefined) return;
      const result = { format: "vd-roofline", version: 1, calculated: true, card, measuredOn: measured.card.id, model };
      await writeWholeFile(options.json, `${JSON.stringify({ ...result, parts, whole, ops }, null, 1)}\n`);
    });
}
