// Builds the device code: packages/kernels-cuda/images/<image>.fatbin for each target, each the fatbins of all sources one behind the
// other, and <image>.ptx, the text of kernels that are completed where they run, for any choice of targets. Only what changed is compiled. Without nvcc nothing is built and nothing fails, unless asked for.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { imageDir, writeManifest } from "../addon/manifest.mjs";
import { parseLog, serializedKernels, table } from "./report.mjs";
import {
  contentHash,
  gencode,
  imageName,
  kernelHash,
  packageDir,
  sourcesFor,
  TARGETS,
  TEMPLATE_FLAGS,
  TEMPLATE_TARGETS,
  templateSources,
} from "./sources.mjs";

const usage = `Usage: pnpm build:cubins [--arch LIST] [--jobs N] [--require] [--check] [--quiet]

  --arch LIST  of ${TARGETS.join(",")}; default: all
  --jobs N     compilers at a time; default: the number of cores, at most 4
  --require    fail if there is no nvcc
  --check      only see that everything compiles: without optimising, a sixth of the time, and no file is kept`;

const options = {
  arch: { type: "string" },
  jobs: { type: "string" },
  require: { type: "boolean", default: false },
  check: { type: "boolean", default: false },
  quiet: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};
const FLAGS = ["-std=c++20", "-O3", "-fatbin", "-compress-mode=size", "-Xptxas=-v"];
/** To see that sources compile: nvcc's quickest way through its optimiser. */
const CHECK_FLAGS = [...FLAGS, "-Ofc", "max"];
const ALIGNMENT = 16;
/** What fills up the last 16 bytes of a part. */
const PADDING = { fatbin: "\0", ptx: "\n" };
/** Stores and loads of spilled registers that a kernel may have: some tiles take less time with a few, outside their loops, than with fewer
 *  threads. A kernel that the compiler could not fit has many times as many. */
const MOST_SPILL_BYTES = 320;
const buildDir = join(packageDir, "build/cuda");

class UsageError extends Error {}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  const targets = values.arch === undefined ? TARGETS : values.arch.split(",").filter(Boolean);
  for (const target of targets)
    if (!TARGETS.includes(target)) throw new UsageError(`--arch: expected ${TARGETS.join(", ")}, got ${target}`);
  const jobs = Number(values.jobs ?? Math.min(4, availableParallelism()));
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new UsageError(`--jobs: expected a whole number from 1, got ${values.jobs}`);
  return { ...values, targets, jobs };
}

/** Says which kernels spill registers; throws where one spills more than a few. */
function reportSpills(rows) {
  const spilled = rows.filter(({ spillBytes }) => spillBytes > 0);
  const tooMuch = spilled.filter(({ spillBytes }) => spillBytes > MOST_SPILL_BYTES);
  if (tooMuch.length > 0)
    throw new Error(`${tooMuch.length} kernels spill more than ${MOST_SPILL_BYTES} bytes:\n${table(tooMuch)}`);
  if (spilled.length > 0)
    console.log(`${spilled.length} kernels spill up to ${MOST_SPILL_BYTES} bytes:\n${table(spilled)}`);
}

/** Throws where ptxas does asynchronous products one after the other. */
function refuseSerialized(results) {
  const names = results.flatMap(({ log }) => serializedKernels(readFileSync(log, "utf8")));
  if (names.length === 0) return;
  const what = `ptxas waits for each wgmma of ${names.length} kernels: ${names.join(", ")}`;
  throw new Error(`${what}; write no register that a product reads between its issue and its wait`);
}

/** nvcc's version, or undefined where there is none. */
function nvccVersion() {
  const probe = spawnSync("nvcc", ["--version"], { encoding: "utf8" });
  return probe.status === 0 ? /release (\S+),/.exec(probe.stdout)?.[1] : undefined;
}

/** Compiles one source for one target unless that was done before. ending: of the file, fatbin or ptx. */
function compile({ source, target, salt, flags, ending }) {
  const stem = `${basename(source, ".cu")}-${imageName(target)}`;
  const key = contentHash(source, [salt, target, ...flags].join("\0")).slice(0, 16);
  const log = join(buildDir, `${stem}-${key}.log`);
  const output = log.replace(/log$/, ending);
  if (existsSync(output) && existsSync(log)) return Promise.resolve({ target, ending, output, log, seconds: 0 });
  const partial = `${output}.${process.pid}.tmp`;
  const started = Date.now();
  return new Promise((resolve, reject) => {
    // The machine stays usable meanwhile.
    const child = spawn("nice", ["-n", "10", "nvcc", ...flags, gencode(target), source, "-o", partial]);
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        text += chunk;
      });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code !== 0) {
        rmSync(partial, { force: true });
        return reject(new Error(`${source} for ${imageName(target)}: nvcc ended with ${code}\n${text}`));
      }
      writeFileSync(log, text);
      renameSync(partial, output);
      resolve({ target, ending, output, log, seconds: (Date.now() - started) / 1000 });
    });
  });
}

async function compileAll(targets, salt, { jobs, check }) {
  const jobsOf = (targetsOf, sources, flags, ending) =>
    targetsOf.flatMap((target) => sources(target).map((source) => ({ source, target, salt, flags, ending })));
  const queue = [
    ...jobsOf(targets, sourcesFor, check ? CHECK_FLAGS : FLAGS, "fatbin"),
    ...jobsOf(TEMPLATE_TARGETS, templateSources, TEMPLATE_FLAGS, "ptx"),
  ];
  const results = [];
  const worker = async () => {
    for (let job = queue.shift(); job; job = queue.shift()) results.push(await compile(job));
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return results;
}

/** One file of all of a target's fatbins, or of all its texts; each starts at a multiple of 16 bytes. Returns a line about it. */
function writeImage(target, ending, results) {
  const parts = results
    .filter((result) => result.target === target && result.ending === ending)
    .sort((a, b) => (a.output < b.output ? -1 : 1))
    .flatMap(({ output }) => {
      const bytes = readFileSync(output);
      return [bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT, PADDING[ending])];
    });
  const name = `${imageName(target)}.${ending}`;
  const path = join(imageDir, name);
  const bytes = Buffer.concat(parts);
  writeFileSync(`${path}.tmp`, bytes);
  renameSync(`${path}.tmp`, path);
  return `${name}: ${(bytes.length / 1024).toFixed(0)} KiB`;
}

function writeReport(results, nvcc) {
  const rows = results.flatMap(({ target, log }) =>
    parseLog(readFileSync(log, "utf8")).map((kernel) => ({ target: imageName(target), ...kernel })),
  );
  rows.sort((a, b) => (`${a.target} ${a.kernel}` < `${b.target} ${b.kernel}` ? -1 : 1));
  const report = { nvcc, kernelHash: kernelHash(), kernels: rows };
  writeFileSync(join(packageDir, "build/cuda-report.json"), `${JSON.stringify(report, null, 1)}\n`);
  return rows;
}

async function main() {
  const { targets, quiet, help, check, ...rest } = readOptions();
  if (help) return console.log(usage);
  const nvcc = nvccVersion();
  if (!nvcc) {
    const message = "device code: no nvcc on the PATH, so none is built; the addon works on the CPU without it";
    if (rest.require) throw new Error(message);
    return console.log(message);
  }
  const started = Date.now();
  mkdirSync(buildDir, { recursive: true });
  mkdirSync(imageDir, { recursive: true });
  const results = await compileAll(targets, nvcc, { jobs: rest.jobs, check });
  const compiled = results.filter(({ seconds }) => seconds > 0).length;
  const took = `${compiled} of ${results.length} in ${((Date.now() - started) / 1000).toFixed(1)} s`;
  if (check) return console.log(`device code: compiled ${took} without optimising, to see that it does`);
  const rows = writeReport(results, nvcc);
  if (!quiet) console.log(table(rows));
  for (const target of targets) console.log(writeImage(target, "fatbin", results));
  for (const target of TEMPLATE_TARGETS) console.log(writeImage(target, "ptx", results));
  writeManifest(imageDir, { sources: kernelHash(), compiler: `nvcc ${nvcc}` });
  console.log(`device code: compiled ${took}`);
  refuseSerialized(results);
  reportSpills(rows);
}

try {
  await main();
} catch (error) {
  console.error(
    error instanceof UsageError ? `build:cubins: ${error.message}\n\n${usage}` : String(error.message ?? error),
  );
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
