import { isVdError } from "@vd/kernels-native";
import { discardAll } from "@vd/tensor";
import type { Dependencies } from "./dependencies";
import { BENCH, type CommandSpec, DRIFT, PLAY } from "./options/commands";
import { nameFlags } from "./options/name-flags";
import { readOptions } from "./options/read-options";
import type { BenchSettings, DriftSettings, PlaySettings } from "./options/settings";

/** Exit statuses: done, failed, wrong usage, stopped. */
export const STATUS = { done: 0, failed: 1, usage: 2, stopped: 130 } as const;

/** A command and what does it; each is loaded when it is called, so that help answers at once. */
const COMMANDS: readonly (readonly [CommandSpec, (values: never, dependencies: Dependencies) => Promise<void>])[] = [
  [
    BENCH,
    async (values: BenchSettings, dependencies) => (await import("./commands/bench")).bench(values, dependencies),
  ],
  [
    DRIFT,
    async (values: DriftSettings, dependencies) => (await import("./commands/drift")).drift(values, dependencies),
  ],
];

/** Runs one command line. Returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 stopped. It throws nothing. */
export async function run(argv: readonly string[], dependencies: Dependencies): Promise<number> {
  const [word, ...rest] = argv;
  const further = COMMANDS.find(([{ words }]) => words === word);
  const spec = further?.[0] ?? PLAY;
  let isUsageChecked = false;
  try {
    const read = readOptions(spec, further ? rest : argv, dependencies.version, dependencies.stdout.columns);
    if (read.kind === "text") {
      dependencies.stdout.write(read.text);
      return STATUS.done;
    }
    if (further) await further[1](read.values as never, dependencies);
    else {
      const { play } = await import("./commands/play");
      await play(read.values as unknown as PlaySettings, dependencies, () => {
        isUsageChecked = true;
      });
    }
    return STATUS.done;
  } catch (error) {
    return fail(error, isUsageChecked, dependencies);
  } finally {
    discardAll();
  }
}

function fail(error: unknown, isUsageChecked: boolean, { stderr, signal }: Dependencies): number {
  if (signal.aborted) {
    stderr.write("Stopped; nothing was written.\n");
    return STATUS.stopped;
  }
  if (!isVdError(error)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    stderr.write(`vd-live failed by a mistake of its own. Please report this:\n${stack}\n`);
    return STATUS.failed;
  }
  const { message } = nameFlags(error);
  stderr.write(`Error: ${message}${/[.?!]$/.test(message) ? "" : "."}\n`);
  return error.code === "attr" && !isUsageChecked ? STATUS.usage : STATUS.failed;
}
