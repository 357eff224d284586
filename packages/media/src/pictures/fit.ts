import {
  having,
  oneOfThese,
  optional,
  requireArgument,
  requireFields,
  TEXT,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { type Pausable, runInSlices } from "@vd/tensor";
import { resizeLanczos } from "./lanczos";
import { checkPixels, checkRgbImage, FLOAT_IMAGE, type FloatImage, type RgbImage, SIZE } from "./rgb-image";
import { cancellable, type PictureWork } from "./work";

/** Every way of bringing a picture into another shape, the default first. */
export const FITS = ["cover", "contain", "stretch"] as const;

/** `cover` cuts off what is beyond the shape, `contain` adds black bars, `stretch` distorts. */
export type PictureFit = (typeof FITS)[number];

const PERCENT = "(?:100|[0-9]{1,2}(?:\\.[0-9]+)?)%";
/** A regular expression for what {@link parseFocus} reads. */
export const FOCUS_PATTERN = `^(?:center|left|right|(?:top|bottom)(?:-(?:left|right))?|${PERCENT},${PERCENT})$`;

/** A point of a picture: 0 is its left or upper edge, 1 its right or lower one. */
export interface FocusPoint {
  x: number;
  y: number;
}

const START = 0;
const MIDDLE = 0.5;
const END = 1;

/**
 * Reads the point of a picture that matters: `center`, `top`, `bottom-left`, `50%,30%` (from the left, from above).
 *
 * @throws VdError `attr` for any other text
 */
export function parseFocus(text: string, where = "focus"): FocusPoint {
  requireArgument(where, text, TEXT);
  if (!new RegExp(FOCUS_PATTERN).test(text)) {
    const expected = "a point such as 50%,30%, top, bottom-left or center";
    throw new VdError({ code: "attr", where, expected, got: JSON.stringify(text.slice(0, 60)) });
  }
  const [x, y] = text.split(",").map((part) => Number.parseFloat(part) / 100);
  if (y !== undefined) return { x: x!, y };
  const along = (first: string, last: string) => (text.includes(first) ? START : text.includes(last) ? END : MIDDLE);
  return { x: along("left", "right"), y: along("top", "bottom") };
}

/** Where a stretch of `part` pixels begins whose middle is as near to `focus` as the whole allows. */
const startOf = (whole: number, part: number, focus: number): number =>
  Math.min(Math.max(Math.round(focus * whole - part / 2), 0), whole - part);

/** A rectangle of whole pixels. */
export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The largest part of a picture that has the shape of width×height, as near to the focus as its edges allow. */
function coverPart(whole: PictureSize, width: number, height: number, focus: FocusPoint): Rectangle {
  const scale = Math.min(whole.width / width, whole.height / height);
  const part = (side: number, most: number) => Math.min(Math.max(1, Math.round(side * scale)), most);
  const [partWidth, partHeight] = [part(width, whole.width), part(height, whole.height)];
  const [left, top] = [startOf(whole.width, partWidth, focus.x), startOf(whole.height, partHeight, focus.y)];
  return { left, top, width: partWidth, height: partHeight };
}

/** Where the whole picture lies between the bars of `contain`. */
function containedPart(whole: PictureSize, width: number, height: number): Rectangle {
  const scale = Math.min(width / whole.width, height / whole.height);
  const inner = (side: number) => Math.max(1, Math.round(side * scale));
  const [innerWidth, innerHeight] = [inner(whole.width), inner(whole.height)];
  const [left, top] = [startOf(width, innerWidth, MIDDLE), startOf(height, innerHeight, MIDDLE)];
  return { left, top, width: innerWidth, height: innerHeight };
}

interface PictureSize {
  width: number;
  height: number;
}

const OPTIONS: WantedFields = {
  fit: optional(oneOfThese(FITS)),
  focus: optional(having("a point { x, y }", ["x", "y"])),
};

/** Refuses what is no shape to be fitted into, and what are no options. @throws VdError `attr` */
function requireFit(width: number, height: number, options: FitOptions): void {
  checkPixels("width", width, "fit");
  checkPixels("height", height, "fit");
  requireFields("fit", options, OPTIONS);
}

/**
 * Returns what {@link fitPicture} does with a picture of some size: `crop`, the part of it that is used, and `placed`, where that lies
 * in the frame of width×height.
 *
 * @throws VdError `attr` for sizes below 1 and for options that are none
 */
export function fitPlacement(
  picture: PictureSize,
  width: number,
  height: number,
  options: FitOptions = {},
): { crop: Rectangle; placed: Rectangle } {
  requireFields("fit picture", picture, SIZE);
  requireFit(width, height, options);
  const { fit = FITS[0], focus = { x: MIDDLE, y: MIDDLE } } = options;
  const whole = { left: 0, top: 0, width: picture.width, height: picture.height };
  const frame = { left: 0, top: 0, width, height };
  if (fit === "stretch" || picture.width * height === picture.height * width) return { crop: whole, placed: frame };
  if (fit === "contain") return { crop: whole, placed: containedPart(picture, width, height) };
  return { crop: coverPart(picture, width, height, focus), placed: frame };
}

function* cut(image: RgbImage, { left, top, width, height }: Rectangle): Pausable<RgbImage> {
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    const from = ((top + y) * image.width + left) * 3;
    data.set(image.data.subarray(from, from + width * 3), y * width * 3);
    yield;
  }
  return { width, height, data };
}

/** The picture `small` at `place` of a black one, row by row. */
function* placed(small: RgbImage, { left, top }: Rectangle, width: number, height: number): Pausable<RgbImage> {
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < small.height; y++) {
    const row = small.data.subarray(y * small.width * 3, (y + 1) * small.width * 3);
    data.set(row, ((top + y) * width + left) * 3);
    yield;
  }
  return { width, height, data };
}

async function barred(image: RgbImage, width: number, height: number, work: PictureWork): Promise<RgbImage> {
  const place = containedPart(image, width, height);
  const small = await resizeLanczos(image, place.width, place.height, work);
  return runInSlices(placed(small, place, width, height), work);
}

/** How {@link fitPicture} works. */
export interface FitOptions {
  fit?: PictureFit | undefined;
  /** What stays in the picture when `cover` cuts; default its middle. */
  focus?: FocusPoint | undefined;
}

/**
 * Brings a picture into the shape of width×height. `cover`, the default, returns the largest part of that shape, at the
 * picture's own resolution, as near to the focus as its edges allow; `contain` the whole picture at width×height between
 * black bars; `stretch`, which leaves the distortion to whoever resizes it, the picture itself. The event loop turns meanwhile.
 *
 * @throws VdError `shape` or `attr` for sizes below 1 and data of another length, `attr` for options that are none, `cancelled`
 * @example
 * ```ts
 * import { fitPicture, loadImage, parseFocus } from "@vd/media";
 *
 * const portrait = await loadImage("portrait.jpg");
 * const part = await fitPicture(portrait, 1024, 576, { focus: parseFocus("50%,30%") });
 * console.log((part.width / part.height).toFixed(2)); // 1.78
 * ```
 */
export async function fitPicture(
  image: RgbImage,
  width: number,
  height: number,
  options: FitOptions & PictureWork = {},
): Promise<RgbImage> {
  checkRgbImage(image, "fit");
  requireFit(width, height, options);
  const { fit = FITS[0], focus = { x: MIDDLE, y: MIDDLE }, signal, where = "fit" } = options;
  return cancellable("fit", options, async () => {
    if (fit === "stretch" || image.width * height === image.height * width) return image;
    if (fit === "contain") return barred(image, width, height, { signal, where });
    return runInSlices(cut(image, coverPart(image, width, height, focus)), { signal, where });
  });
}

/**
 * As {@link fitPicture} for pictures in floats, which are cut but never resized.
 *
 * @throws VdError `unsupported` for `contain` unless the picture has the shape already, `attr` for what is no picture, for sizes
 *   below 1 and for options that are none
 */
export function fitFloats(image: FloatImage, width: number, height: number, options: FitOptions = {}): FloatImage {
  requireFields("fit", image, FLOAT_IMAGE);
  requireFit(width, height, options);
  const { fit = FITS[0], focus = { x: MIDDLE, y: MIDDLE } } = options;
  if (fit === "stretch" || image.width * height === image.height * width) return image;
  if (fit === "contain") {
    const [expected, got] = ["cover or stretch for a picture in floats", "contain"];
    throw new VdError({ code: "unsupported", where: "fit", expected, got, hint: "Give the picture as bytes." });
  }
  const part = coverPart(image, width, height, focus);
  const data = new Float32Array(3 * part.width * part.height);
  for (let row = 0; row < 3 * part.height; row++) {
    const [plane, y] = [Math.floor(row / part.height), row % part.height];
    const from = (plane * image.height + part.top + y) * image.width + part.left;
    data.set(image.data.subarray(from, from + part.width), row * part.width);
  }
  return { width: part.width, height: part.height, data };
}
