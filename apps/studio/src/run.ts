import { isVdError, VdError } from "@vd/kernels-native";
import {
  FURTHER_COMMANDS,
  KEYS_ADD,
  KEYS_LIST,
  KEYS_REMOVE,
  KEYS_SECRET,
  readWords,
  SERVE,
  WORKER,
} from "./options/commands";
import type { KeysSettings, ServeSettings, WorkerSettings } from "./options/settings";
import type { WorkerProgram } from "./workers/worker-process";
import { WorkError } from "./workers/worker-process";

/** All that the program needs from outside; tests replace any of it. */
export interface Dependencies {
  stdout: { write(text: string): unknown; columns?: number | undefined };
  stderr: { write(text: string): unknown };
  /** Ends the server. */
  signal: AbortSignal;
  version: string;
  program: WorkerProgram;
  page: string | undefined;
  openBrowser(url: string): Promise<void>;
}

/** Exit statuses: done, failed, wrong usage. */
const STATUS = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line. Returns the exit status: 0 done or stopped, 1 failed, 2 wrong usage. It throws nothing. */
export async function run(argv: readonly string[], dependencies: Dependencies): Promise<number> {
  try {
    await runCommand(argv, dependencies);
    return STATUS.done;
  } catch (error) {
    const { stderr } = dependencies;
    if (isVdError(error) || error instanceof WorkError) {
      stderr.write(`Error: ${error.message}\n`);
      return isVdError(error) && error.code === "attr" ? STATUS.usage : STATUS.failed;
    }
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    stderr.write(`vd-studio failed by a mistake of its own. Please report this:\n${stack}\n`);
    return STATUS.failed;
  }
}

async function runCommand(argv: readonly string[], dependencies: Dependencies): Promise<void> {
  const { stdout, version } = dependencies;
  if (argv[0] === "--version" || argv[0] === "-V") return void stdout.write(`${version}\n`);
  const spec =
    FURTHER_COMMANDS.find(({ words }) => words === argv.slice(0, words.split(" ").length).join(" ")) ?? SERVE;
  if (spec === SERVE && argv[0] !== undefined && !argv[0].startsWith("-"))
    throw new VdError({
      code: "attr",
      where: "arguments",
      expected: `options, or ${FURTHER_COMMANDS.map(({ words }) => words).join(", ")}`,
      got: `"${argv[0]}"`,
    });
  const rest = argv.slice(spec.words === "" ? 0 : spec.words.split(" ").length);
  const read = readWords(spec, rest, stdout.columns);
  if (read.kind === "text") return void stdout.write(read.text);
  const { operand = "" } = read;
  if (spec === SERVE) return serve(read.values as unknown as ServeSettings, dependencies);
  if (spec === WORKER) return work(read.values as unknown as WorkerSettings, dependencies);
  const settings = read.values as unknown as KeysSettings;
  const keys = await import("./commands/keys");
  if (spec === KEYS_ADD) stdout.write(await keys.addKeyCommand(settings, operand));
  else if (spec === KEYS_LIST) stdout.write(await keys.listKeysCommand(settings));
  else if (spec === KEYS_REMOVE) stdout.write(await keys.removeKeyCommand(settings, operand));
  else if (spec === KEYS_SECRET) stdout.write(await keys.secretCommand(settings, operand));
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

async function serve(
  settings: ServeSettings,
  { stdout, stderr, signal, openBrowser, ...context }: Dependencies,
): Promise<void> {
  const { startStudio } = await import("./commands/serve");
  const studio = await startStudio(settings, { ...context, log: (text) => stderr.write(text) });
  stdout.write(`vd-studio: ${studio.url}\n`);
  if (settings.open) await openBrowser(studio.url).catch(() => {});
  await aborted(signal);
  stderr.write(`Stopping; waiting up to ${settings.drainSeconds} s for videos that are being made.\n`);
  await studio.stop();
}

async function work(settings: WorkerSettings, { stdout, stderr, signal, program }: Dependencies): Promise<void> {
  const { startWorker } = await import("./commands/worker");
  const worker = await startWorker(settings, { ...program, log: (text) => stderr.write(text) });
  stdout.write(`vd-studio worker: ${worker.title}\n`);
  await aborted(signal);
  stderr.write(`Stopping; waiting up to ${settings.drainSeconds} s for videos that are being made.\n`);
  await worker.stop();
}
