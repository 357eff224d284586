import type { ClipChanges } from "@vd/svd-pipeline";
import { bytesPerPixel } from "../model/picture-levels";
import type { LivePicture } from "../session/types";

type Size = { width: number; height: number };

const inRange = (min: number, max: number) => (value: unknown) =>
  typeof value === "number" && value >= min && value <= max;

/** What sessions tell their clips, and whether a value of it can be taken. */
const CHECKS: { readonly [Name in keyof ClipChanges]: (value: unknown, size: Size) => boolean } = {
  image: (value, size) => bytesPerPixel(value as LivePicture, size) === 3,
  steps: (value) => Number.isInteger(value) && inRange(1, 1000)(value),
  motionBucketId: inRange(0, 1000),
  noiseAugStrength: inRange(0, 10),
  minGuidance: inRange(0, 100),
  maxGuidance: inRange(0, 100),
  seed: (value) =>
    typeof value === "bigint" ? value === BigInt.asUintN(64, value) : Number.isSafeInteger(value) && Number(value) >= 0,
};

/** True for what a session may have told a clip of that size; `changes` may be anything. */
export function areChanges(changes: ClipChanges, size: Size): boolean {
  if (typeof changes !== "object" || changes === null || Array.isArray(changes)) return false;
  return Object.entries(changes).every(([name, value]) => {
    const isFit = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof ClipChanges] : undefined;
    return isFit !== undefined && (value === undefined || isFit(value, size));
  });
}
