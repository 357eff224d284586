import { runBench } from "@vd/bench";
import { OPS, type OpId } from "@vd/kernels-native";
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

/** Times an op's shapes by `vd-bench ops`, or prints what profiles them. words: for vd-bench. Returns the exit status. */
export async function benchOp(
  id: OpId,
  words: readonly string[],
  { ncu, nsys }: TypedWords["values"],
): Promise<number> {
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
