import { findCachedModel, listCachedModels, removeCachedModel, resolveModel } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { type Precision, WEIGHT_FORMATS } from "@vd/svd-pipeline/options";
import type { Context, Dependencies } from "../dependencies";
import type { ArgumentsContext } from "../options/arguments";
import { type CommandSpec, MODELS_LIST, MODELS_PULL, MODELS_REMOVE, PROGRAM } from "../options/commands";
import { parseCommand } from "../options/parse";
import { writeEvent } from "../report/json";
import { type ReadCommand, runCommand } from "../report/run-command";
import { formatBytes } from "../report/units";
import { consentTo, declinedError } from "./consent";
import { bundledRow, modelTable } from "./table";

/** Checked values of a command's options, by name. */
type Values = Readonly<Record<string, unknown>>;

interface ModelsCommand {
  spec: CommandSpec;
  run(values: Values, context: Context): Promise<void>;
}

const COMMANDS: Readonly<Record<string, ModelsCommand>> = {
  list: { spec: MODELS_LIST, run: list },
  pull: { spec: MODELS_PULL, run: pull },
  rm: { spec: MODELS_REMOVE, run: remove },
};

/**
 * Runs `models list`, `models pull` or `models rm`.
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 cancelled. It throws nothing.
 */
export function runModels(
  argv: readonly string[],
  argumentsContext: ArgumentsContext,
  dependencies: Dependencies,
): Promise<number> {
  const read = (): ReadCommand => {
    const [word, ...rest] = argv;
    if (word === undefined || word === "--help" || word === "-h") return { kind: "text", text: overview() };
    const { spec, run } = commandOf(word);
    const parsed = parseCommand(spec, rest, argumentsContext);
    if (parsed.kind === "text") return parsed;
    const { values } = parsed;
    const work = (context: Context) => run(values, context);
    return { kind: "values", json: values.json === true, quiet: values.quiet === true, work };
  };
  return runCommand(argv, { read, cancelled: "nothing was changed" }, dependencies);
}

function commandOf(word: string): ModelsCommand {
  if (Object.hasOwn(COMMANDS, word)) return COMMANDS[word]!;
  const expected = `one of ${Object.keys(COMMANDS).join(", ")}`;
  throw new VdError({ code: "attr", where: `${PROGRAM} models`, expected, got: `"${word}"` });
}

function overview(): string {
  const lines = Object.values(COMMANDS).map(({ spec }) => `  ${PROGRAM} ${spec.words.padEnd(12)}  ${spec.doc}\n`);
  return `Usage: ${PROGRAM} models <COMMAND>\n\n${lines.join("")}\n${PROGRAM} models COMMAND --help shows the options.\n`;
}

async function list(values: Values, { io }: Context): Promise<void> {
  const models = await listCachedModels();
  const shown = models.filter(({ isComplete }) => isComplete || values.all);
  if (values.json) {
    for (const model of shown) writeEvent(io, { event: "model", ...model });
    return;
  }
  io.stdout.write(modelTable([await bundledRow(), ...shown]));
  const numOthers = models.length - shown.length;
  if (numOthers > 0)
    io.stdout.write(`\n${numOthers} more in the cache, not whole or of another kind: --all shows them.\n`);
}

async function pull(values: Values, { io, reporter, signal }: Context): Promise<void> {
  const [name, yes, json] = [values.model as string, !!values.yes, !!values.json];
  let hasDownloaded = false;
  const startUs = io.nowUs();
  const approve = consentTo({ io, reporter, yes, json, signal });
  const { dir, commit } = await resolveModel(name, {
    dtype: WEIGHT_FORMATS[values.dtype as Precision],
    signal,
    async onBeforeDownload(download) {
      await approve(download);
      hasDownloaded = true;
    },
    onNotice: (text) => reporter.warning(text),
    onProgress: ({ receivedTotalBytes: step, totalBytes: steps, file: message }) =>
      reporter.progress({ stage: "download", step, steps, elapsedUs: io.nowUs() - startUs, message }),
  });
  reporter.close();
  if (json) writeEvent(io, { event: "done", dir, commit, hasDownloaded });
  else if (!values.quiet) io.stdout.write(`${name} ${hasDownloaded ? "is ready" : "was there already"}: ${dir}\n`);
}

async function remove(values: Values, { io, signal }: Context): Promise<void> {
  const name = values.model as string;
  const { repo, bytes, dir } = await findCachedModel(name);
  const question = `Delete ${repo}, ${formatBytes(bytes)}, from ${dir}?`;
  if (!values.yes && !values.json && io.confirm && !(await io.confirm(question, signal))) throw declinedError(repo);
  await removeCachedModel(repo);
  if (values.json) writeEvent(io, { event: "done", repo, bytes, dir });
  else io.stdout.write(`${repo} is deleted; ${formatBytes(bytes)} are free again.\n`);
}
