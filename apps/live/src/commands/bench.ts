import { availableParallelism, loadavg } from "node:os";
import { type MachineInfo, machineInfo } from "@vd/app-parts";
import { throwIfAborted, VdError } from "@vd/kernels-native";
import type { LiveModelInfo, LivePicture, LiveSessionOptions, LiveTimes } from "@vd/live";
import { checkPlace, chooseDevice, type DeviceName, peakProcessBytes, writeWholeFile } from "@vd/tensor";
import { type AheadCheck, checkAhead } from "../bench/ahead-check";
import { benchFrames, type FrameBench } from "../bench/frame-bench";
import { benchKeys } from "../bench/key-bench";
import { benchNetwork, chainSize, isNetworkName } from "../bench/network-bench";
import { benchSessions, type SessionsBench } from "../bench/session-bench";
import type { Dependencies } from "../dependencies";
import type { BenchSettings } from "../options/settings";
import { aheadOf, clipOptions, makesClips, modelOptions } from "./session-options";

/** The results of `vd-live bench`, as its JSON file has them. */
export interface BenchResults extends FrameBench {
  model: string;
  /** What computed, in words. */
  device: string;
  node: string;
  /** Where and with what it was measured, with the commit and, in a packed program, the hash of the kernel sources: as vd-bench writes it. */
  machine: MachineInfo;
  steps: number;
  /** Frames or calls that were begun before the one before was finished. */
  ahead: number;
  /** Frames begun ahead, held against the same ones made one by one; undefined where that was not asked for. */
  compared: AheadCheck | undefined;
  /** From a key press to the arrival of its picture over a WebSocket of this machine; undefined where none was asked for. */
  keyToPictureMs: LiveTimes | undefined;
  /** Sessions at the same time on several devices; undefined where none were asked for. */
  together: SessionsBench | undefined;
  /** One session whose denoiser runs on the first device and whose autoencoder on the second; undefined where none was asked for, and for other
   *  models than those of pictures. */
  split: SplitBench | undefined;
  /** Processes that wanted to run in the minute before (the load average; 0 on Windows, which has none), and processors that they share: without it p99
   *  says nothing of the program. */
  loadBefore: number;
  processors: number;
  /** The most memory that the process had at once. */
  peakRssBytes: number;
}

/** What a session makes whose parts are on two devices. */
interface SplitBench {
  devices: readonly string[];
  fps: number;
  /** Mean milliseconds a frame by part of the session. */
  parts: Readonly<Record<string, number>>;
}

const MIB = 2 ** 20;

function machineOf(device: DeviceName): MachineInfo {
  const { kind, index } = chooseDevice(device);
  return machineInfo(kind, index);
}

const times = ({ mean, p50, p95, p99, max }: LiveTimes) =>
  [mean, p50, p95, p99, max].map((ms) => ms.toFixed(1).padStart(7)).join(" ");

function table(results: BenchResults): string {
  const { fps, frames, frameMs, keyToPictureMs, peakRssBytes, deviceBytes, model, device, steps, ahead } = results;
  const ofDevice = deviceBytes === undefined ? "" : `, ${(deviceBytes / MIB).toFixed(0)} MiB of the device's`;
  const { parameters, gigaflop } = results;
  const rows = [
    `${model} on ${device}, ${steps} ${steps === 1 ? "step" : "steps"} a frame, ${frames} frames${ahead > 0 ? `, ${ahead} begun ahead` : ""}`,
    `  ${fps.toFixed(1)} frames a second, ${(peakRssBytes / MIB).toFixed(0)} MiB of memory at most${ofDevice}`,
    `  ${"milliseconds".padEnd(16)} ${["mean", "p50", "p95", "p99", "max"].map((name) => name.padStart(7)).join(" ")}`,
    `  ${"frame".padEnd(16)} ${times(frameMs)}`,
  ];
  rows.push(
    `  p99 is ${(frameMs.p99 / frameMs.p50).toFixed(2)} x p50; load average before it ${results.loadBefore.toFixed(2)} on ${results.processors} processors`,
  );
  if (parameters !== undefined && gigaflop !== undefined)
    rows.push(`  ${(parameters / 1e6).toFixed(2)} million parameters, ${gigaflop.toFixed(1)} GFLOP a frame`);
  if (results.compared) rows.push(comparedLine(results.compared));
  if (keyToPictureMs) rows.push(`  ${"key to picture".padEnd(16)} ${times(keyToPictureMs)}`);
  if (results.together) rows.push(togetherLine(results.together));
  if (results.split) rows.push(splitLine(results.split));
  return `${rows.join("\n")}\n`;
}

const comparedLine = ({ frames, differing }: AheadCheck) =>
  `  ${differing === 0 ? "none" : differing} of ${frames} frames begun ahead ${differing === 1 ? "differs" : "differ"} from those made one by one`;

const togetherLine = ({ sessions, devices, fps, each, aloneFps }: SessionsBench) =>
  `  ${sessions} sessions on ${devices.join(",")}: ${fps.toFixed(1)} frames a second together, ${Math.min(...each).toFixed(1)} the slowest; one alone ${aloneFps.toFixed(1)}`;

function refuseCompare(model: string): never {
  const hint = "Add --ahead 1 or 2, and name a model of pictures by --model or --random.";
  const expected = "frames of a model of pictures, some of which are begun ahead";
  throw new VdError({ code: "attr", where: "--compare", expected, got: model, hint });
}

/**
 * Times frames and key presses, prints a table and writes JSON where a file is named.
 *
 * @throws VdError what opening a session throws; `io` for the file
 */
export async function bench(settings: BenchSettings, dependencies: Dependencies): Promise<void> {
  const { stdout, openSession, openSessions, signal } = dependencies;
  if (settings.json !== undefined) await checkPlace(settings.json, { where: "--json" });
  const [loadBefore = 0] = loadavg();
  const { random } = settings;
  const options = {
    ...modelOptions(settings),
    ...(await clipOptions(settings)),
    random: isNetworkName(random) ? undefined : random,
    ahead: aheadOf(settings.ahead),
    precision: settings.precision,
  };
  if (settings.input === undefined && (await makesClips(settings))) options.picture = testPicture();
  const { about, frames } = await timeModel(settings, options, dependencies);
  const compared = settings.compare ? await checkAhead(openSession, options, signal) : undefined;
  // Models of pictures have no keys.
  const keyToPictureMs =
    settings.presses === 0 || !about.hasKeys
      ? undefined
      : await benchKeys(openSession, options, settings.presses, signal);
  const { devices, sessions = devices?.length ?? 0 } = settings;
  const sessionsToo = { options, sessions, frames: settings.frames, signal };
  const together = devices && (await benchSessions(openSessions, { ...sessionsToo, devices }));
  const isSplit = about.kind === "pictures" && devices !== undefined && devices.length > 1;
  const split = isSplit ? await benchSplit(dependencies, options, settings) : undefined;
  throwIfAborted(signal, "vd-live bench");
  const { model, steps } = about;
  const machine = machineOf(settings.device);
  const results: BenchResults = {
    ...{
      model,
      steps,
      ahead: settings.ahead,
      device: machine.device,
      node: machine.node,
      machine,
      ...frames,
      compared,
      keyToPictureMs,
      together,
      split,
    },
    loadBefore,
    processors: availableParallelism(),
    peakRssBytes: peakProcessBytes(),
  };
  stdout.write(table(results));
  if (settings.json === undefined) return;
  await writeWholeFile(settings.json, `${JSON.stringify(results, null, 2)}\n`, { where: "--json" });
}

/** Times calls of a network, or frames of a session, and tells of what. */
async function timeModel(
  settings: BenchSettings,
  options: LiveSessionOptions,
  { openSession, signal }: Dependencies,
): Promise<{ about: AboutModel; frames: FrameBench }> {
  const { random, frames: count, compare, ahead } = settings;
  let about: AboutModel = { model: `random ${random}`, steps: 1, hasKeys: false, kind: undefined };
  const learn = (found: AboutModel): void => {
    about = found;
    if (compare && (found.kind !== "pictures" || ahead === 0)) refuseCompare(found.model);
  };
  if (isNetworkName(random)) {
    learn(about);
    return { about, frames: await benchNetwork(random, settings, count, signal) };
  }
  const onOpen = (model: LiveModelInfo): void => learn(aboutModel(model, options));
  const frames = await benchFrames(openSession, options, count, signal, onOpen);
  return { about, frames: { ...frames, ...(random === "unet-chain" ? chainSize(1) : {}) } };
}

const splitLine = ({ devices, fps }: SplitBench) =>
  `  one session, denoiser on ${devices[0]}, autoencoder on ${devices[1]}: ${fps.toFixed(1)} frames a second`;

/** Times a session of pictures with its parts on the first two devices. */
async function benchSplit(
  { openSession, signal }: Dependencies,
  options: LiveSessionOptions,
  { devices, frames: count }: Pick<BenchSettings, "devices" | "frames">,
): Promise<SplitBench> {
  const two = devices!.slice(0, 2);
  const over = { ...options, device: undefined, devices: two };
  const { fps, parts } = await benchFrames(openSession, over, count, signal);
  return { devices: two, fps, parts };
}

/** A picture for clips that nobody looks at. */
function testPicture(): LivePicture {
  const [width, height] = [256, 144];
  return { width, height, data: Uint8Array.from({ length: 3 * width * height }, (_, i) => (i * 37) % 256) };
}

/** What is told of a model, and what depends on it. */
interface AboutModel {
  model: string;
  steps: number;
  hasKeys: boolean;
  kind: LiveModelInfo["kind"] | undefined;
}

const aboutModel = ({ name, defaultSteps, keys, kind }: LiveModelInfo, { steps }: LiveSessionOptions): AboutModel => ({
  ...{ kind, model: name, steps: steps ?? defaultSteps },
  hasKeys: Object.keys(keys).length > 0,
});
