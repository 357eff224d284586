import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { PATH, requireArgument } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { type DeviceName, type NamedDevice, runInSlices, SafetensorsFile } from "@vd/tensor";
import type { LiveModelInfo } from "../model/types";
import type { LiveSessionOptions } from "../session/types";

/** Most steps of a sampler that a session offers. */
const MAX_STEPS = 50;
/** Layers that see several frames, in the original names: only models of video have them. */
const OF_VIDEO = ".time_stack.";
/** The class of a folder's model_index.json. */
const PIPELINE_CLASS = "StableVideoDiffusionPipeline";

function classOfFolder(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, "model_index.json"), "utf8")) as { _class_name?: unknown })
      ._class_name;
  } catch {
    // What is wrong with the file is told by whoever opens it.
    return undefined;
  }
}

/** Returns true for a model that makes clips of a picture: a folder of Stable Video Diffusion, or a file with all of it. */
export async function isClipModel(source: string): Promise<boolean> {
  requireArgument("isClipModel", source, PATH);
  if (!existsSync(source)) return false;
  if (!statSync(source).isFile()) return classOfFolder(source) === PIPELINE_CLASS;
  if (!source.endsWith(".safetensors")) return false;
  using file = await runInSlices(SafetensorsFile.open.inPieces(source));
  return [...file.entries.keys()].some((name) => name.includes(OF_VIDEO));
}

/** A model of clips, open. */
export interface ClipModel {
  info: LiveModelInfo;
  pipeline: StableVideoDiffusionPipeline;
  /** True where the session opened the pipeline and closes it. */
  isOwned: boolean;
}

/** What a session tells of a model of clips. */
function clipInfo(source: string, { defaults }: StableVideoDiffusionPipeline): LiveModelInfo {
  const { width, height, fps, steps } = defaults;
  const choices = new Set([...Array.from({ length: MAX_STEPS }, (_, i) => i + 1), steps]);
  return {
    kind: "clips",
    ...{ name: basename(source), folder: source, width, height, fps },
    ...{ contextFrames: 0, sigmaData: 1, defaultSteps: steps },
    // The levels are the sampler's; their numbers alone are a choice here.
    sigmas: new Map([...choices].sort((a, b) => a - b).map((count) => [count, []])),
    ...{ actions: ["none"], keys: {}, starts: [] },
  };
}

/** The device of several as a pipeline opens it. */
function placeOf({ label, device: { kind, threads } }: NamedDevice): { device: DeviceName; threads?: number } {
  return kind === "cpu" ? { device: "cpu", threads } : { device: label as DeviceName };
}

/**
 * Opens a model of clips, or takes a pipeline that is open. on: the device, where it is chosen for the session.
 *
 * @throws VdError as `StableVideoDiffusionPipeline.fromPretrained`
 */
export async function openClipModel(
  model: string | StableVideoDiffusionPipeline,
  { device, threads, distilled, signal }: LiveSessionOptions,
  on?: NamedDevice,
): Promise<ClipModel> {
  if (typeof model !== "string") return { info: clipInfo("pipeline", model), pipeline: model, isOwned: false };
  const place = on ? placeOf(on) : { device, threads };
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { ...place, distilled, signal });
  return { info: clipInfo(model, pipeline), pipeline, isOwned: true };
}
