import type { PipelineFactory } from "./model/factory";
import { run } from "./run";

/**
 * Runs the command line of this process and sets its exit status.
 * @param version what `--version` prints
 */
export async function main(pipelineFactory: PipelineFactory, argv: readonly string[], version: string): Promise<void> {
  // A reader that stops early (`vd-generate --json | head`) is no failure of ours.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  process.exitCode = await run(argv, {
    io: { stdout: process.stdout, stderr: process.stderr, nowUs: () => Math.round(performance.now() * 1000) },
    pipelineFactory,
    signals: process,
    version,
    ffmpeg: "ffmpeg",
    peakRssBytes: () => process.resourceUsage().maxRSS * 1024,
  });
}
