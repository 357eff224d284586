// The options of `pnpm kernel`, rows as all others are, and how a command line is read by them.
import { parseArgs } from "node:util";
import { VdError } from "@vd/kernels-native";
import { boolean, choice, cliRows, helpText, isSwitch, type OptionTable, readCli } from "@vd/svd-pipeline/options";

/** Every option of the commands, but those that `bench` hands on to vd-bench. */
export const KERNEL_TABLE = {
  device: {
    kind: choice(["cpu", "cuda", "emulated"], "string"),
    doc: "Where the op is tested; emulated: kernels of a GPU on the CPU, where there is no GPU (Linux on x64, with nvcc and a C++ compiler).",
    default: { kind: "always", value: "cpu" },
    cli: { flags: "--device <DEVICE>" },
  },
  architecture: {
    kind: choice(["75", "80", "86", "89", "90a", "100", "120"], "string"),
    doc: "The GPU that is emulated, by its compute capability: what the planner chooses for it, by the kernels that it has.",
    default: { kind: "always", value: "90a" },
    cli: { flags: "--architecture <ARCHITECTURE>" },
  },
  validate: {
    kind: boolean,
    doc: "Tests under sanitizers as well: ASan and UBSan on the CPU, for which the addon is compiled anew, memcheck and racecheck of compute-sanitizer on a GPU.",
    cli: { flags: "--validate" },
  },
  ncu: {
    kind: boolean,
    doc: "Prints the command that profiles the op's kernels with Nsight Compute, and times nothing.",
    cli: { flags: "--ncu" },
  },
  nsys: {
    kind: boolean,
    doc: "Prints the command that records the op with Nsight Systems, and times nothing.",
    cli: { flags: "--nsys" },
  },
} as const satisfies OptionTable;

/** Name of an option of {@link KERNEL_TABLE}. */
export type KernelOption = keyof typeof KERNEL_TABLE;

const ROWS = new Map(cliRows(KERNEL_TABLE).map((row) => [row.options[0] as KernelOption, row]));

type ParsedOptions = Record<string, { type: "boolean" | "string" }>;

/** Words by Node.js, whose complaints become a sentence that says what there is. */
function parsed(typed: readonly string[], options: ParsedOptions) {
  try {
    return parseArgs({ args: [...typed], options, allowPositionals: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw error;
    const names = Object.keys(options).map((name) => `--${name}`);
    const got = typed.find((word) => word.startsWith("-") && !names.includes(word.split("=")[0]!))!;
    const expected = names.length > 0 ? `no option but ${names.join(", ")}` : "no option";
    throw new VdError({ code: "attr", where: "kernel", expected, got, hint: "pnpm kernel --help lists them." });
  }
}

/** What was typed behind a command. */
export interface TypedWords {
  /** Words that are no options of ours: with `handsOn` options of another program too. */
  words: string[];
  values: Partial<{
    device: "cpu" | "cuda" | "emulated";
    architecture: string;
    validate: boolean;
    ncu: boolean;
    nsys: boolean;
  }>;
}

/**
 * Reads the words behind a command. names: the options that it has. handsOn: options that are not among them are left for
 * another program.
 *
 * @throws VdError `attr` for a value that an option cannot have or an option that there is not
 */
export function readWords(typed: readonly string[], names: readonly KernelOption[], handsOn = false): TypedWords {
  const rows = names.map((name) => ROWS.get(name)!);
  const options = Object.fromEntries(
    rows.map((row) => [row.name.slice(2), { type: isSwitch(row) ? ("boolean" as const) : ("string" as const) }]),
  );
  if (handsOn) {
    const own = new Set(rows.map(({ name }) => name));
    const values = Object.assign(
      {},
      ...rows.filter(({ name }) => typed.includes(name)).map((row) => readCli(row, true, row.name)),
    );
    return { words: typed.filter((word) => !own.has(word)), values };
  }
  const { values, positionals } = parsed(typed, options);
  const read = rows.flatMap((row) => {
    const value = values[row.name.slice(2)];
    return value === undefined ? [] : [readCli(row, value as string | boolean, row.name)];
  });
  return { words: positionals, values: Object.assign({}, ...read) };
}

/** What help says of each option of a command: how it is typed, and what it does. */
export function optionHelp(names: readonly KernelOption[]): (readonly [flags: string, text: string])[] {
  return names.map((name) => {
    const row = ROWS.get(name)!;
    return [row.form.flags, helpText(row)];
  });
}

/** Lines of at most `columns`: `head` at the left, words of `text` from column `indent` on. */
export function helpLines(head: string, text: string, indent: number, columns: number): string[] {
  const width = Math.max(columns - indent, 20);
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line, i) => `${(i === 0 ? head : "").padEnd(indent)}${line}`);
}
