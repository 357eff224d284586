import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { openComponentWeights, readJson } from "@vd/hub";
import { OBJECT, requireFields, requireText, shown, VdError } from "@vd/kernels-native";
import { loadImage, type RgbImage, resizeLanczos } from "@vd/media";
import { type Pausable, pausable, runInSlices } from "@vd/tensor";
import { parseUnet2dConfig, type Unet2d, unet2d } from "../models/unet-2d/index";
import type { LivePicture } from "../session/types";
import { parseLiveJson } from "./live-json";
import { bytesPerPixel, pictureInWords } from "./picture-levels";
import type { LiveModelInfo } from "./types";

/** A live model whose weights are mapped. */
export interface LiveModel {
  readonly info: LiveModelInfo;
  readonly network: Unet2d;
}

const HINT = "A live model is a folder with live.json, unet/config.json and the network's weights.";

/** The folder of the bundled model. */
function bundledFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-live/package.json"));
  } catch (cause) {
    const expected = "the bundled model, the package @vd/model-tiny-live";
    const hint = "Install the packages again, or name a model's folder.";
    throw new VdError({ code: "io", where: "model", expected, got: "no such package", hint, cause });
  }
}

/** The network must take the noisy frame, the context and the actions that live.json names. */
function checkFit({ contextFrames, actions }: LiveModelInfo, { config }: Unet2d, where: string): void {
  const wanted = { inChannels: 3 + 3 * contextFrames, outChannels: 3, numClassEmbeds: actions.length };
  for (const [key, value] of Object.entries(wanted)) {
    const got = config[key as keyof typeof wanted];
    if (got === value) continue;
    const expected = `${key} of ${value}, for ${contextFrames} context frames and ${actions.length} actions`;
    throw new VdError({ code: "weights", where, expected, got: String(got) });
  }
}

/**
 * Opens a live model. folder: default the bundled tiny-live. The event loop turns meanwhile.
 *
 * @throws VdError `io`, `weights`, `unsupported`, or `attr` for what is no path
 * @example
 * ```ts
 * import { openLiveModel } from "@vd/live";
 *
 * const { info } = await openLiveModel();
 * console.log(info.actions, info.starts.map(({ name }) => name));
 * ```
 */
export async function openLiveModel(folder: string = bundledFolder()): Promise<LiveModel> {
  requireText("openLiveModel] [folder", folder, "the path of a live model's folder");
  const root = resolve(folder);
  const jsonPath = join(root, "live.json");
  const info = parseLiveJson(await readJson(jsonPath, HINT), root, jsonPath);
  const configPath = join(root, "unet/config.json");
  const config = parseUnet2dConfig(await readJson(configPath, HINT), configPath);
  const { weights } = await runInSlices(openComponentWeights(root, "unet", "fp16"));
  const network = unet2d(weights, config);
  weights.expectAllUsed();
  checkFit(info, network, configPath);
  return { info, network };
}

function fail(expected: string, got: string): never {
  throw new VdError({ code: "shape", where: "session] [start", expected, got });
}

/** Channels-last pixels of `pictures` side by side in channels: [H,W,3·n] in [-1, 1]. Pauses after each row. */
const contextOfPictures = pausable(function* (
  pictures: readonly LivePicture[],
  width: number,
  height: number,
): Pausable<Float32Array> {
  const channels = 3 * pictures.length;
  const context = new Float32Array(width * height * channels);
  for (const [i, picture] of pictures.entries()) {
    const stride =
      bytesPerPixel(picture, { width, height }) ??
      fail(`pictures of ${width} x ${height}, RGB or RGBA`, pictureInWords(picture));
    for (let y = 0; y < height; y++) {
      for (let pixel = y * width; pixel < (y + 1) * width; pixel++)
        for (let c = 0; c < 3; c++)
          context[pixel * channels + 3 * i + c] = picture.data[pixel * stride + c]! / 127.5 - 1;
      yield;
    }
  }
  return context;
});

/** Cuts a picture of frames side by side. */
function cutStrip(strip: RgbImage, count: number): RgbImage[] {
  const width = strip.width / count;
  if (!Number.isInteger(width)) fail(`a picture of ${count} frames side by side`, `a width of ${strip.width}`);
  return Array.from({ length: count }, (_, i) => {
    const data = new Uint8Array(width * strip.height * 3);
    for (let y = 0; y < strip.height; y++) {
      const from = (y * strip.width + i * width) * 3;
      data.set(strip.data.subarray(from, from + width * 3), y * width * 3);
    }
    return { width, height: strip.height, data };
  });
}

/**
 * Returns a start state's context: [H,W,3 · frames] in [-1, 1], oldest first. start: a name, or pictures, oldest first, of the model's size; of fewer
 * than the model takes, the first is repeated.
 *
 * @throws VdError `attr` for a name that the model does not have, `shape` for pictures that do not fit
 */
export async function startContext(
  model: LiveModel,
  start?: string | readonly LivePicture[],
  size?: { width: number; height: number },
): Promise<Float32Array> {
  requireFields("startContext model", model, { info: OBJECT });
  return contextOf(model.info, start, size);
}

async function contextOf(
  info: LiveModel["info"],
  start: string | readonly LivePicture[] = info.starts[0]!.name,
  size: { width: number; height: number } = info,
): Promise<Float32Array> {
  const { contextFrames, starts, folder } = info;
  if (typeof start !== "string" && !Array.isArray(start)) fail("a start state's name, or pictures", shown(start));
  if (typeof start !== "string") {
    const [first] = start;
    if (!first || start.length > contextFrames) fail(`1 to ${contextFrames} pictures`, String(start.length));
    const missing = Array.from({ length: contextFrames - start.length }, () => first);
    return runInSlices(contextOfPictures.inPieces([...missing, ...start], size.width, size.height));
  }
  const found = starts.find(({ name }) => name === start);
  if (!found) {
    const expected = `one of ${starts.map(({ name }) => name).join(", ")}`;
    throw new VdError({ code: "attr", where: "session] [start", expected, got: start });
  }
  const strip = await loadImage(join(folder, found.file));
  const { width, height } = size;
  const fitted: RgbImage[] = [];
  for (const frame of cutStrip(strip, contextFrames)) {
    const fits = frame.width === width && frame.height === height;
    fitted.push(fits ? frame : await resizeLanczos(frame, width, height));
  }
  return runInSlices(contextOfPictures.inPieces(fitted, width, height));
}
