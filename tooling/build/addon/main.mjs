// Builds the addon with prebuildify, unless prebuilds/ already holds the build of these sources: for this machine, or for
// the targets that are named. No Node headers, Python or make: a compiler and the headers of node-api-headers and
// node-addon-api. The device code is built by tooling/build/cubins.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  binaryFolders,
  describeBinaries,
  prebuildsDir,
  readManifest,
  refreshManifests,
  writeManifest,
} from "./manifest.mjs";
import { addonInputs, filesBelow, packageDir } from "./sources.mjs";
import { compilerVersion, HOST, missingCompiler, TARGETS, toolchain } from "./toolchain.mjs";

const STALE_STATUS = 3;
const here = dirname(fileURLToPath(import.meta.url));
const usage = `Usage: node tooling/build/addon/main.mjs [--target LIST] [--manifest | --is-fresh]

  --target LIST  of ${[...new Set([HOST, ...TARGETS])].join(",")}; default: this machine's
  --manifest     write the manifests of the addons and the device code anew and build nothing
  --is-fresh     build nothing; status 3 unless every target is built from these sources`;

function fail(message, status = 1) {
  console.error(`[build:addon] ${message}`);
  process.exit(status);
}

function readOptions() {
  try {
    const options = {
      target: { type: "string", default: HOST },
      manifest: { type: "boolean" },
      "is-fresh": { type: "boolean" },
      help: { type: "boolean" },
    };
    return parseArgs({ options }).values;
  } catch (error) {
    return fail(`${error.message}\n\n${usage}`, 2);
  }
}

function contentHash() {
  const hash = createHash("sha256");
  const tools = filesBelow(here, (name) => name.endsWith(".mjs"));
  for (const path of [...addonInputs(), ...tools]) {
    hash.update(relative(packageDir, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

/** Whether prebuilds/ holds the build of these sources, unchanged since. */
function isFresh(target, sources) {
  const dir = join(prebuildsDir, target);
  const { built, files } = readManifest(dir);
  const now = describeBinaries(dir)["vd-native.node"];
  return built.sources === sources && now !== undefined && now.sha256 === files["vd-native.node"]?.sha256;
}

function build(target, sources) {
  if (isFresh(target, sources)) return console.log(`addon: prebuilds/${target} is fresh`);
  const tools = toolchain(target);
  const missing = missingCompiler(tools);
  if (missing) fail(missing);
  const started = Date.now();
  // A folder of its own: several builds may run at once.
  const workDir = join("build", `${target}-${process.pid}`);
  mkdirSync(join(packageDir, workDir), { recursive: true });
  const prebuildify = createRequire(join(packageDir, "package.json")).resolve("prebuildify/bin.js");
  const words = ["--napi", "--strip", "--cwd", workDir, "--out", packageDir, "--name", "vd-native"];
  const [platform, arch] = target.split("-");
  const env = { PREBUILD_PLATFORM: platform, PREBUILD_ARCH: arch, PREBUILD_STRIP_BIN: tools.strip };
  const result = spawnSync(process.execPath, [prebuildify, ...words], {
    cwd: packageDir,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...env, PREBUILD_NODE_GYP: join(here, "compile.mjs") },
  });
  rmSync(join(packageDir, workDir), { recursive: true, force: true });
  if (result.status !== 0) process.exit(result.status ?? 1);
  writeManifest(join(prebuildsDir, target), { sources, compiler: compilerVersion(tools) });
  console.log(`addon: built prebuilds/${target} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

const values = readOptions();
const { target, manifest } = values;
if (values.help) {
  console.log(usage);
} else if (manifest) {
  refreshManifests();
  const folders = binaryFolders().map((dir) => relative(join(packageDir, ".."), dir));
  console.log(`manifests of ${folders.join(", ")} are fresh`);
} else {
  const targets = target.split(",").filter(Boolean);
  const unknown = targets.find((name) => name !== HOST && !TARGETS.includes(name));
  if (unknown) fail(`--target: got ${unknown}\n\n${usage}`, 2);
  const sources = contentHash();
  if (values["is-fresh"]) {
    process.exitCode = targets.every((name) => isFresh(name, sources)) ? 0 : STALE_STATUS;
  } else {
    for (const name of targets) build(name, sources);
    refreshManifests();
  }
}
