// vd-kernel: everything that is done with one op while it is written, behind `pnpm kernel`.
import { watchOutputs } from "@vd/app-parts";
import { isVdError, OPS, type OpId, VdError } from "@vd/kernels-native";
import { nearestNames } from "@vd/tensor";
import { Failure } from "../build/workspace.mjs";
import { benchOp } from "./bench-op";
import { listOps } from "./list-ops";
import { makeOp } from "./new-op";
import { helpLines, type KernelOption, optionHelp, readWords, type TypedWords } from "./options";
import { showOp } from "./show-op";
import { testOp } from "./test-op";

/** A command. */
interface KernelCommand {
  /** The words behind its name. */
  usage: string;
  doc: string;
  options: readonly KernelOption[];
  /** Options that are not its own go to vd-bench. */
  handsOn?: true;
  /** Returns the exit status. name: of the op, empty for commands without one. */
  run(name: string, typed: TypedWords): Promise<number>;
}

/** The op of that name. */
function knownOp(name: string): OpId {
  if (Object.hasOwn(OPS, name)) return name as OpId;
  const hint = `Nearest: ${nearestNames(name, new Set(Object.keys(OPS))).join(", ")}.`;
  throw new VdError({ code: "attr", where: "OP", expected: "the name of an op", got: JSON.stringify(name), hint });
}

const COMMANDS: Readonly<Record<string, KernelCommand>> = {
  list: { usage: "", doc: "all ops: where they run, how many cases they have", options: [], run: listOps },
  show: {
    usage: "OP",
    doc: "formula, arguments, tolerance, where it runs, what was measured",
    options: [],
    run: async (name) => showOp(knownOp(name)),
  },
  test: {
    usage: "OP",
    doc: "every case against the definition and float64, after compiling what changed",
    options: ["device", "architecture", "validate"],
    run: async (name, { values }) => testOp(knownOp(name), values),
  },
  bench: {
    usage: "OP [PATTERN]",
    doc: "times the op's shapes, with their shares of bandwidth and roofline; takes the options of `vd-bench ops`, such as --device cuda, --json FILE and --compare FILE",
    options: ["ncu", "nsys"],
    handsOn: true,
    run: async (name, { words, values }) => benchOp(knownOp(name), words, values),
  },
  new: {
    usage: "OP",
    doc: "writes a new op's files; its tests run, and fail until its formula is written",
    options: [],
    run: async (name) => makeOp(name),
  },
};

/** Column that explanations begin in. */
const HELP_INDENT = 23;

function help(): string {
  const columns = process.stdout.columns ?? 80;
  const lines = Object.entries(COMMANDS).flatMap(([name, { usage, doc, options }]) => [
    ...helpLines(`  ${name} ${usage}`, doc, HELP_INDENT, columns),
    ...optionHelp(options).flatMap(([flags, text]) => helpLines(`    ${flags}`, text, HELP_INDENT, columns)),
  ]);
  return ["Usage: pnpm kernel COMMAND", "", ...lines].join("\n");
}

/** Runs one command line. Returns the exit status: 0 done, 1 failed, 2 wrong usage. */
async function run([name = "", ...rest]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "help" || name === "") {
    console.log(help());
    return name === "" ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new Failure(`expected one of ${Object.keys(COMMANDS).join(", ")}, got "${name}"\n\n${help()}`, 2);
  // The program that options are handed on to has a help of its own, once there is an op.
  if (rest.includes("--help") && (!command.handsOn || rest[0] === "--help")) {
    console.log(help());
    return 0;
  }
  const typed = readWords(rest, command.options, command.handsOn);
  const [op = "", ...words] = typed.words;
  const most = command.usage === "" ? 0 : 1;
  if ((most === 1 && op === "") || (!command.handsOn && typed.words.length > most))
    throw new Failure(
      `expected pnpm kernel ${`${name} ${command.usage}`.trim()}, got pnpm kernel ${[name, ...rest].join(" ")}`,
      2,
    );
  return command.run(op, { ...typed, words });
}

watchOutputs(process, "Make room", () => {
  process.exitCode = 1;
});
try {
  process.exitCode = await run(process.argv.slice(2).filter((word) => word !== "--"));
} catch (error) {
  const isUsage =
    (isVdError(error) && error.code === "attr") || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  if (!(error instanceof Failure) && !isVdError(error) && !isUsage) throw error;
  console.error(`kernel: ${(error as Error).message}`);
  process.exitCode = error instanceof Failure ? error.status : isUsage ? 2 : 1;
}
