import { runBench } from "@vd/bench";
import { OPS, type OpId, VdError } from "@vd/kernels-native";
import type { TypedWords } from "./options";

/** Kernels of an op, by what their symbols begin with: ops whose names begin alike are left out. */
export function kernelPattern(id: string, ids: readonly string[] = Object.keys(OPS)): string {
  const longer = ids.filter((other) => other.startsWith(`${id}_`)).map((other) => other.slice(id.length + 1));
  return longer.length > 0 ? `^${id}_(?!${longer.join("|")})` : `^${id}_`;
}

/** One run of the op's shapes on a GPU, for a profiler to look at. words: of `vd-bench ops`. */
function profiledRun(id: OpId, words: readonly string[]): string[] {
  const program = ["node", "--import", "tsx", "apps/bench/src/cli.ts", "ops", ...words, "--op", id];
  return [...program, "--device", "cuda", "--no-peers", "--rounds", "1", "--repeats", "1"];
}

const quoted = (word: string) => (/^[\w./:=,@^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command line that profiles the kernels of one op, to be run at the repository's root on a machine with a GPU. */
export function profileCommand(tool: "ncu" | "nsys", id: OpId, words: readonly string[]): string {
  const ncu = ["ncu", "--set", "full", "--target-processes", "all", "--kernel-name", `regex:${kernelPattern(id)}`];
  const nsys = ["nsys", "profile", "--trace", "cuda,nvtx", "--force-overwrite", "true"];
  const output = tool === "ncu" ? ["--export", `${id}.ncu-rep`, "--force-overwrite"] : ["--output", `${id}.nsys-rep`];
  return [...(tool === "ncu" ? ncu : nsys), ...output, ...profiledRun(id, words)].map(quoted).join(" ");
}

/** Refuses `--op`, whose place the op's name has: of two vd-bench takes the last. */
function refuseSecondOp(id: OpId, words: readonly string[]): void {
  const at = words.findIndex((word) => word === "--op" || word.startsWith("--op="));
  if (at < 0) return;
  const other = words[at]!.startsWith("--op=") ? words[at]!.slice("--op=".length) : (words[at + 1] ?? "");
  const [expected, got] = [`no --op beside the name of an op, ${id}`, `--op ${other}`.trim()];
  const hint = "pnpm kernel bench times one op; `pnpm bench ops --op` takes any.";
  throw new VdError({ code: "attr", where: "kernel bench", expected, got, hint });
}

/**
 * Times an op's shapes by `vd-bench ops`, or prints what profiles them. words: for vd-bench. Returns the exit status.
 *
 * @throws VdError `attr` for a second op among the words
 */
export async function benchOp(
  id: OpId,
  words: readonly string[],
  { ncu, nsys }: TypedWords["values"],
): Promise<number> {
  refuseSecondOp(id, words);
  if (ncu) console.log(profileCommand("ncu", id, words));
  if (nsys) console.log(profileCommand("nsys", id, words));
  if (ncu || nsys) return 0;
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  return runBench(["ops", ...words, "--op", id], {
    ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version: "checkout" },
    self: { program: process.execPath, args: [...process.execArgv, process.argv[1]!] },
  });
}
