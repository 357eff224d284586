// Loads the addon in several Node.js versions. Behind `pnpm check:nodes`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Failure, runMain, seconds } from "../../build/workspace.mjs";
import { run } from "../packages/packages.mjs";
import { stageLoader } from "./stage.mjs";

const usage = `Usage: pnpm check:nodes [--node LIST] [SCENARIO ...]

  --node LIST  major versions, from the npm registry; default: 20,22,24,26

Scenarios: load, twice, exit, reload, workers, verify (all).`;

const EXPECTED = {
  load: ({ right }) => right === true,
  twice: ({ same, after }) => same && after,
  exit: ({ leaving }) => leaving === true,
  reload: ({ after }) => after,
  workers: ({ killed, right, after }) => killed === 100 && right === 10 && after,
  verify: ({ numVerified }) => numVerified > 0,
};

/** A Node.js that is too old: it must be told so. */
const TOO_OLD = "18";

/** Path of a Node.js of a major version. */
const nodeOf = (major) => run("npx", ["-y", "-p", `node@${major}`, "node", "-p", "process.execPath"]).trim();

function runScenario(program, node, name) {
  const startMs = performance.now();
  const { status, signal, stdout, stderr } = spawnSync(node, [program, name], { encoding: "utf8", timeout: 120_000 });
  const isRight = status === 0 && EXPECTED[name](JSON.parse(stdout.trim().split("\n").at(-1)));
  return { isRight, said: isRight ? "" : `${signal ?? status} ${stdout} ${stderr}`, took: seconds(startMs) };
}

/** Whether an old Node.js gets a sentence. */
function refusesOld(program) {
  const { stdout, stderr } = spawnSync(nodeOf(TOO_OLD), [program, "load"], { encoding: "utf8" });
  const isRefused = /expected Node\.js 20\.19 or newer, got Node\.js 18\./.test(stdout);
  console.log(
    `${isRefused ? "ok" : "FAILED"}: v${TOO_OLD} is refused with a sentence ${isRefused ? "" : stdout + stderr}`,
  );
  return isRefused;
}

await runMain("check:nodes", async () => {
  const options = { node: { type: "string", default: "20,22,24,26" }, help: { type: "boolean" } };
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values, positionals } = parseArgs({ options, args, allowPositionals: true });
  if (values.help) return console.log(usage);
  const names = positionals.length > 0 ? positionals : Object.keys(EXPECTED);
  const folder = mkdtempSync(join(tmpdir(), "vd loader "));
  let numFailed = 0;
  try {
    const program = await stageLoader(folder);
    if (!refusesOld(program)) numFailed++;
    for (const major of values.node.split(",")) {
      const node = nodeOf(major);
      const version = run(node, ["--version"]).trim();
      for (const name of names) {
        const { isRight, said, took } = runScenario(program, node, name);
        console.log(`${isRight ? "ok" : "FAILED"}: ${version} ${name} (${took}) ${said.slice(0, 800)}`);
        if (!isRight) numFailed++;
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (numFailed > 0) throw new Failure(`${numFailed} scenarios failed.`);
});
