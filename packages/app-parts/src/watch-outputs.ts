import type { Writable } from "node:stream";

/** Where a program prints. */
export interface WatchedOutputs {
  stdout: Writable;
  stderr: Writable;
}

/**
 * Tells once, in a sentence, of what could not be printed: a disk that is full takes no more lines, and the work goes on. A reader that stops
 * early (`| head`) is no failure. hint: what to do instead, without a full stop. onLost: sets the exit status, also of work that has ended: streams
 * tell of a failure after the call. Returns whether something was lost.
 */
export function watchOutputs(
  { stdout, stderr }: WatchedOutputs,
  hint: string,
  onLost: () => void,
): { readonly isTold: boolean } {
  const lost = { isTold: false };
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" || lost.isTold) return;
      lost.isTold = true;
      onLost();
      const got = `${error.message}. ${hint}`;
      if (stream === stdout)
        stderr.write(`Error: [standard output] expected one that takes what is written, got ${got}.\n`);
    });
  return lost;
}
