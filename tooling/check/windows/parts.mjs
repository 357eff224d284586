// The parts of the check, each a real node.exe under Wine. A part returns what it found; whether that is right, its
// `faults` say.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import { nodeExe, STAGE } from "./stage.mjs";
import { installDll, removeDll, runInWindows } from "./wine.mjs";

const DRIVER = "nvcuda.dll";
const STAND_IN = join(ROOT, "packages/kernels-native/test/driver/stand-in.c");
/** Cases of more floating-point operations have tiles of GPUs in mind; a CPU takes the same code for smaller ones, and Linux runs all. */
const MOST_FLOPS = 1e8;
const CLIP = "ein Clip ü.mp4";

function node(words, { major = 20, env } = {}) {
  const { status, stdout, stderr } = runInWindows(nodeExe(major), words, { cwd: STAGE, env });
  if (status !== 0)
    throw new Error(`node.exe ${words.join(" ")} ended with ${status}: ${`${stdout}${stderr}`.slice(-1500)}`);
  return stdout;
}

/** The last line of what a program prints, as data. */
const lastLine = (text) => JSON.parse(text.trim().split("\n").at(-1));
const check = (part, options) => lastLine(node(["checks.mjs", part], options));

/** Runs `body` with a stand-in for the NVIDIA driver in Windows' folder. */
function withDriver(env, body) {
  installDll(STAND_IN, DRIVER);
  try {
    return body(env);
  } finally {
    removeDll(DRIVER);
  }
}

function generation() {
  const path = join(STAGE, CLIP);
  rmSync(path, { force: true });
  node([
    "node_modules/@vd/generate/dist/cli.js",
    "-o",
    CLIP,
    "--steps",
    "2",
    "--frames",
    "4",
    "--seed",
    "7",
    "--quiet",
  ]);
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return { bytes: bytes.length, kind: bytes.toString("latin1", 4, 8), hasMovie: bytes.includes("moov") };
}

/** Name, what it does, and what is wrong with its result, as sentences. */
export const PARTS = {
  conformance: {
    run: () => lastLine(node(["dist/conformance.mjs", "--most-flops", String(MOST_FLOPS)])),
    faults: ({ passed, failed, platform }) => [
      ...(platform === "win32" && passed > 1500 ? [] : [`${passed} cases passed on ${platform}`]),
      ...failed,
    ],
  },
  threads: {
    run: () => check("threads"),
    faults: ({ right, numWorkers, main }) =>
      right === numWorkers && main ? [] : [`${right} of ${numWorkers} workers right`],
  },
  paths: {
    run: () => check("paths"),
    faults: ({ read, copied, missing }) => [
      ...(read.join() === "1,2,3,4" && copied === 4 ? [] : [`read ${read}, copied ${copied}`]),
      ...(/^io: .*nicht da\.bin/.test(missing) ? [] : [`a missing file says ${missing}`]),
    ],
  },
  "no driver": {
    run: () => {
      removeDll(DRIVER); // of a check that was stopped
      return check("driver");
    },
    faults: ({ usable, devices, refused }) => [
      ...(usable || !/^No NVIDIA driver: nvcuda\.dll/.test(devices[1].reason)
        ? [`without a driver: ${devices[1].reason}`]
        : []),
      ...(/^unsupported: .*No NVIDIA driver.*device "cpu"/.test(refused) ? [] : [`opening a GPU says ${refused}`]),
    ],
  },
  "old driver": {
    run: () => withDriver({ STAND_IN_VERSION: "12080" }, (env) => check("driver", { env })),
    faults: ({ devices }) =>
      devices[1].reason === "The NVIDIA driver supports CUDA 12.8; CUDA 13.0 is needed (driver 580 or newer)."
        ? []
        : [`an old driver: ${devices[1].reason}`],
  },
  "stand-in driver": {
    run: () => withDriver({}, (env) => check("driver", { env })),
    faults: ({ usable, devices }) =>
      usable && devices[1].name === "Stand-in GPU 0" ? [] : [`got ${JSON.stringify(devices)}`],
  },
  verify: {
    run: () => check("verify", { env: { VD_VERIFY: "1" } }),
    faults: ({ verified }) => (verified.length > 0 ? [] : ["nothing was verified"]),
  },
  "node 22": {
    run: () => check("threads", { major: 22 }),
    faults: ({ right, numWorkers, node: version }) =>
      right === numWorkers && version.startsWith("22.")
        ? []
        : [`${right} of ${numWorkers} workers right on ${version}`],
  },
  generation: {
    run: generation,
    faults: ({ bytes, kind, hasMovie }) =>
      kind === "ftyp" && hasMovie && bytes > 1000 ? [] : [`the video has ${bytes} bytes`],
  },
};
