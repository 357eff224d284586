import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { VdError } from "@vd/kernels-native";
import { type Contender, peerName } from "./contenders";
import type { MeasureOptions } from "./options";
import { PeerProcess } from "./peer-process";

/** How to start this program anew: the program, and arguments before the command's own. */
export interface SelfProgram {
  program: string;
  args: readonly string[];
}

/** What the child prints when the denoiser is about to be called. */
export const LAUNCH_LINE = "first launch";

const shared = ({ model, device, precision, numFrames, width, height }: MeasureOptions) => ({
  ...{ model, device, dtype: precision, frames: numFrames, width, height },
});

function childArguments(options: MeasureOptions, image: string): string[] {
  const { model, device, dtype, frames, width, height } = shared(options);
  const threads = options.threads === undefined ? [] : ["--threads", String(options.threads)];
  const layers = options.layers === undefined ? [] : ["--precision", options.layers];
  const convolutions = options.convolutions === undefined ? [] : ["--convolutions", options.convolutions];
  const table = options.calibration === undefined ? [] : ["--calibration", options.calibration];
  const sizes = ["--frames", String(frames), "--size", `${width}x${height}`];
  return [
    "first-launch",
    "--model",
    model,
    "--device",
    device,
    "--dtype",
    dtype,
    "--image",
    image,
    ...sizes,
    ...threads,
    ...layers,
    ...convolutions,
    ...table,
  ];
}

/** Time from the start of a fresh process of ours to the denoiser's first call. */
async function ourStart(self: SelfProgram, options: MeasureOptions, image: string, signal: AbortSignal) {
  const start = performance.now();
  const child = spawn(self.program, [...self.args, ...childArguments(options, image)], {
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  let launchedMs: number | undefined;
  let complaint = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line === LAUNCH_LINE) launchedMs = performance.now();
  });
  child.stderr.on("data", (text) => {
    complaint = `${complaint}${text}`.slice(-500);
  });
  await new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve());
  });
  if (launchedMs !== undefined) return (launchedMs - start) * 1000;
  const got = complaint.trim() || "none";
  throw new VdError({ code: "internal", where: "start", expected: "a first call of the denoiser", got });
}

/** The same for the peer: a fresh Python with its libraries and its pipeline. */
async function peerStart({ python, peerScript, ...options }: MeasureOptions, image: string) {
  const start = performance.now();
  const peer = new PeerProcess("diffusers", python, [peerScript]);
  try {
    const request = shared({ python, peerScript, ...options });
    await peer.request("open", request);
    await peer.request("first_call", { ...request, image, steps: 2, seed: options.seed });
    return (performance.now() - start) * 1000;
  } finally {
    peer.stop();
  }
}

/** Contenders whose runs are fresh processes. */
export function startContenders(
  self: SelfProgram,
  options: MeasureOptions,
  image: string,
  signal: AbortSignal,
): Contender[] {
  const contender = (name: string, once: () => Promise<number>): Contender => ({
    ...{ name, facts: {}, close: async () => {} },
    run: async () => [await once()],
  });
  const ours = contender("ours", () => ourStart(self, options, image, signal));
  return options.peers.length === 0 ? [ours] : [ours, contender(peerName("eager"), () => peerStart(options, image))];
}
