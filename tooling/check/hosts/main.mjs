// Uses the packages in hosts beside Node.js. Behind `pnpm check:hosts`.
import { parseArgs } from "node:util";
import { Failure, prepareWorkspace, runMain, seconds } from "../../build/workspace.mjs";
import { checkElectron } from "./electron.mjs";
import { checkNext } from "./next.mjs";
import { checkRuntime } from "./runtimes.mjs";

const usage = `Usage: pnpm check:hosts [--all] [--require] [HOST ...]

  --all      all hosts; otherwise those that take seconds: bun and deno
  --require  what cannot be tried here is a failure

Hosts: bun, deno, next, electron.`;

const HOSTS = {
  bun: () => checkRuntime("bun"),
  deno: () => checkRuntime("deno"),
  next: checkNext,
  electron: checkElectron,
};
const QUICK = ["bun", "deno"];

/** Tries a host and prints what was found. Resolves to whether that is a success. */
async function tryHost(name, isRequired) {
  const startMs = performance.now();
  const { skipped, said, faults = [] } = await HOSTS[name]();
  const took = seconds(startMs);
  if (skipped) console.log(`${isRequired ? "FAILED" : "skipped"}: ${name}: ${skipped} (${took})`);
  else if (faults.length === 0) console.log(`ok: ${name} ${said} (${took})`);
  else console.log(`FAILED: ${name} (${took})\n  ${faults.join("\n  ")}`);
  return faults.length === 0 && !(skipped && isRequired);
}

await runMain("check:hosts", async () => {
  const flags = ["all", "require", "help"];
  const options = Object.fromEntries(flags.map((name) => [name, { type: "boolean", default: false }]));
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values, positionals } = parseArgs({ options, args, allowPositionals: true });
  if (values.help) return console.log(usage);
  const unknown = positionals.find((name) => !HOSTS[name]);
  if (unknown) throw new Failure(`there is no host ${unknown}.\n\n${usage}`, 2);
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Failure("the hosts are tried on Linux x64 only.");
  await prepareWorkspace("@vd/examples...");
  const names = positionals.length > 0 ? positionals : values.all ? Object.keys(HOSTS) : QUICK;
  let numFailed = 0;
  for (const name of names) if (!(await tryHost(name, values.require))) numFailed++;
  if (numFailed > 0) throw new Failure(`${numFailed} of ${names.length} hosts failed.`);
});
