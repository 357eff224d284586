// Stands in for trtexec: checks its arguments as the real one does, notes them, and builds and runs "engines" that are
// told apart by what they were built from. behaviour.json beside it says what it pretends.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const {
  banner = "v101200",
  fail,
  hang,
  noEngine,
  silent,
} = JSON.parse(readFileSync(join(here, "behaviour.json"), "utf8"));
const args = process.argv.slice(2);
const flags = new Map(
  args.map((arg) =>
    arg.includes("=") ? [arg.slice(0, arg.indexOf("=")), arg.slice(arg.indexOf("=") + 1)] : [arg, ""],
  ),
);

const isNewest = Number(banner.slice(1)) >= 110000;
const KNOWN = new Set([
  ...[
    "--help",
    "--onnx",
    "--saveEngine",
    "--timingCacheFile",
    "--device",
    "--skipInference",
    "--minShapes",
    "--optShapes",
  ],
  ...["--maxShapes", "--builderOptimizationLevel", "--memPoolSize", "--loadEngine", "--loadInputs", "--shapes"],
  ...["--exportOutput", "--iterations", "--warmUp", "--duration", "--avgRuns", "--stronglyTyped"],
  ...(isNewest ? [] : ["--fp16", "--fp8", "--int8", "--calib"]),
]);

function die(message) {
  console.error(`[11/21/2026-12:00:00] [E] ${message}`);
  console.error(`&&&& FAILED TensorRT.trtexec [TensorRT ${banner}] # trtexec ${args.join(" ")}`);
  process.exit(1);
}

function build() {
  if (!existsSync(flags.get("--onnx"))) die(`Could not open file ${flags.get("--onnx")}`);
  console.log("[11/21/2026-12:00:00] [I] Start parsing network model.");
  if (fail) die(fail);
  if (hang) {
    console.log("[11/21/2026-12:00:01] [I] [TRT] Building.");
    writeFileSync(flags.get("--saveEngine"), "half");
    setInterval(() => {}, 1000);
    return;
  }
  appendFileSync(flags.get("--timingCacheFile"), "timings");
  if (!noEngine) writeFileSync(flags.get("--saveEngine"), JSON.stringify({ stands: "in", args }));
  console.log("[11/21/2026-12:00:02] [I] Engine built in 2.1 sec.");
}

/** Half of the sample's first four channels of eight: [B,F,8,h,w] in float32 → [B,F,4,h,w]. */
function run() {
  const engine = JSON.parse(readFileSync(flags.get("--loadEngine"), "utf8"));
  const files = Object.fromEntries(
    flags
      .get("--loadInputs")
      .split(",")
      .map((entry) => [entry.slice(0, entry.indexOf(":")), entry.slice(entry.indexOf(":") + 1)]),
  );
  for (const path of Object.values(files)) if (!existsSync(path)) die(`Cannot open ${path}`);
  if (engine.stands !== "in") die("deserialization failed");
  const bytes = readFileSync(files.sample);
  const sample = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const dims = JSON.parse(readFileSync(join(here, "behaviour.json"), "utf8")).sampleDims;
  const perFrame = sample.length / (dims[0] * dims[1]);
  const values = [...sample].filter((_, i) => i % perFrame < perFrame / 2).map((value) => value / 2);
  const dimensions = [dims[0], dims[1], dims[2] / 2, dims[3], dims[4]].join("x");
  writeFileSync(flags.get("--exportOutput"), JSON.stringify([{ name: "out_sample", dimensions, values }]));
}

if (!silent) console.log(`&&&& RUNNING TensorRT.trtexec [TensorRT ${banner}] # trtexec ${args.join(" ")}`);
for (const name of flags.keys()) if (!KNOWN.has(name)) die(`Unknown option: ${name}`);
if (!flags.has("--help")) {
  appendFileSync(join(here, "calls.jsonl"), `${JSON.stringify(args)}\n`);
  if (flags.has("--onnx")) build();
  else if (flags.has("--loadEngine")) run();
  else die("Model missing or format not recognized");
}
