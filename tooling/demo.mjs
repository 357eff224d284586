// Makes a video from a fresh clone in one command: installs and builds what is missing or stale, then generates.
// Behind `pnpm demo`.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ended, Failure, handOnSignals, prepareWorkspace, ROOT, runMain, seconds } from "./build/workspace.mjs";

/** Fixed, so that everyone's first video is the same. */
const SEED = "42";

async function generate(extraWords) {
  const words = ["--seed", SEED, ...extraWords];
  console.log(`Making a video: vd-generate ${words.join(" ")}`);
  const program = join(ROOT, "apps/generate/dist/cli.js");
  const child = spawn(process.execPath, [program, ...words], { cwd: ROOT, stdio: "inherit" });
  const { status } = await ended(child);
  if (status !== 0) throw new Failure("no video was made, see above.", status ?? 1);
}

await runMain("demo", async () => {
  const startMs = performance.now();
  handOnSignals();
  await prepareWorkspace("@vd/generate...");
  // pnpm hands on a "--" that only it needed.
  const extraWords = process.argv[2] === "--" ? process.argv.slice(3) : process.argv.slice(2);
  await generate(extraWords);
  console.log(`Total: ${seconds(startMs)}`);
});
