/** Where a picture is cut, for drawing it before the server has said so. */

/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** A part of a picture; all numbers are shares of its sides, from 0 to 1. */
export interface Part {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A point of a picture in shares of its sides: 0 is left or above. */
export interface Point {
  x: number;
  y: number;
}

/** The middle of a picture. */
export const MIDDLE: Point = { x: 0.5, y: 0.5 };

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** The part of a picture that `cover` keeps: the largest of the frames' shape, as near to the focus as its edges allow. */
export function coverPart(picture: Size, frame: Size, focus: Point): Part {
  const scale = Math.min(picture.width / frame.width, picture.height / frame.height);
  const width = (frame.width * scale) / picture.width;
  const height = (frame.height * scale) / picture.height;
  return {
    ...{ left: clamp(focus.x - width / 2, 0, 1 - width), top: clamp(focus.y - height / 2, 0, 1 - height) },
    ...{ width, height },
  };
}

/** The focus that moves the kept part by shares of the picture; it stays where moving it on would show no more. */
export function movedFocus(picture: Size, frame: Size, focus: Point, byX: number, byY: number): Point {
  const { left, top, width, height } = coverPart(picture, frame, focus);
  const along = (start: number, length: number, by: number) => clamp(start + by, 0, 1 - length) + length / 2;
  return { x: along(left, width, byX), y: along(top, height, byY) };
}

const WORDS: Record<string, number> = { left: 0, top: 0, right: 1, bottom: 1 };

/** Reads a focus as the option has it: `50%,30%` or words such as `bottom-left`. */
export function readFocus(text: string): Point {
  const [x, y] = text.split(",").map((part) => Number.parseFloat(part) / 100);
  if (x !== undefined && y !== undefined && Number.isFinite(x) && Number.isFinite(y)) return { x, y };
  const words = text.split("-");
  const along = (first: string, last: string) =>
    WORDS[words.find((word) => word === first || word === last) ?? ""] ?? MIDDLE.x;
  return { x: along("left", "right"), y: along("top", "bottom") };
}

const percent = (share: number) => `${Number((100 * clamp(share, 0, 1)).toFixed(1))}%`;

/** Writes a focus as the option takes it. */
export const focusText = ({ x, y }: Point): string => `${percent(x)},${percent(y)}`;
