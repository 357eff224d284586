import { fileURLToPath } from "node:url";
import { bundledProgram } from "../../../../tooling/testing/program";
import { run } from "../../src/run";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** The small trained model of this repository. */
export const TINY_SVD = `${root}models/tiny-svd`;

/** Starts this program from its sources in a process of its own. */
export const SELF = {
  program: process.execPath,
  args: [await bundledProgram(fileURLToPath(new URL("../../src/cli.ts", import.meta.url)))],
};

/** What a command printed, and its exit status. */
export interface Ran {
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs one command line in this process. */
export async function vdBench(argv: readonly string[], signal = new AbortController().signal): Promise<Ran> {
  const texts = { stdout: "", stderr: "" };
  const output = (name: keyof typeof texts) => ({
    write: (text: string) => {
      texts[name] += text;
    },
  });
  const status = await run(argv, {
    stdout: output("stdout"),
    stderr: output("stderr"),
    signal,
    self: SELF,
    version: "1.2.3",
  });
  return { status, ...texts };
}
