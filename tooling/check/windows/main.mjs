// Tries the Windows binary in a real node.exe under Wine. Behind `pnpm check:windows`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Failure, prepareWorkspace, ROOT, runMain, seconds } from "../../build/workspace.mjs";
import { PARTS } from "./parts.mjs";
import { APP, download, isDownloaded, stage } from "./stage.mjs";
import { prepareWindows, whyNoWine } from "./wine.mjs";

const BUILDER = join(ROOT, "tooling/build/addon/main.mjs");
const usage = `Usage: pnpm check:windows [--cached] [--prepare] [--json] [--require] [PART ...]

  --cached   download and build nothing: skip where something is missing
  --prepare  download, build and stage, and run no part
  --json     one line of JSON with what every part found
  --require  a skip is a failure

Parts: ${Object.keys(PARTS).join(", ")}`;

/** What is missing on this machine or, where nothing may be fetched or built, in the checkout; as a sentence. */
function whySkip(cached) {
  const reason = whyNoWine();
  if (reason || !cached) return reason;
  if (!isDownloaded()) return "node.exe and the dependencies for Windows were not fetched: `pnpm check:windows` does";
  const isStale = spawnSync(process.execPath, [BUILDER, "--target", "win32-x64", "--is-fresh"]).status !== 0;
  if (isStale) return "the Windows binary is not of these sources: `pnpm build:prebuilds` makes it";
  const dist = join(ROOT, "apps/generate/dist/cli.js");
  return existsSync(dist) ? undefined : "the packages are not built: `pnpm build` does";
}

async function prepare(cached) {
  if (!cached) await prepareWorkspace(`${APP}...`);
  const built = spawnSync(process.execPath, [BUILDER, "--target", "win32-x64"], { encoding: "utf8" });
  if (built.status !== 0) throw new Failure(`the Windows binary does not build:\n${built.stderr}`);
  if (!cached || !isDownloaded()) download();
  prepareWindows();
  await stage();
}

/** Runs a part; a part that throws has that as its fault. */
function runPart(name) {
  const startMs = performance.now();
  try {
    const found = PARTS[name].run();
    return { name, found, faults: PARTS[name].faults(found), took: seconds(startMs) };
  } catch (error) {
    return { name, faults: [error.message], took: seconds(startMs) };
  }
}

await runMain("check:windows", async () => {
  const flags = ["cached", "prepare", "json", "require", "help"];
  const options = Object.fromEntries(flags.map((name) => [name, { type: "boolean", default: false }]));
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values, positionals } = parseArgs({ options, args, allowPositionals: true });
  if (values.help) return console.log(usage);
  const unknown = positionals.find((name) => !PARTS[name]);
  if (unknown) throw new Failure(`there is no part ${unknown}.\n\n${usage}`, 2);
  const skipped = whySkip(values.cached);
  if (skipped && values.require) throw new Failure(skipped);
  if (skipped) return console.log(values.json ? JSON.stringify({ skipped }) : `skipped: ${skipped}`);
  const startMs = performance.now();
  await prepare(values.cached);
  if (values.prepare) return console.log(`ready in ${seconds(startMs)}`);
  const results = (positionals.length > 0 ? positionals : Object.keys(PARTS)).map((name) => {
    const result = runPart(name);
    if (!values.json)
      console.log(`${result.faults.length ? "FAILED" : "ok"}: ${name} (${result.took})`, ...result.faults.slice(0, 5));
    return result;
  });
  if (values.json) console.log(JSON.stringify({ results }));
  if (results.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
});
