import { fileURLToPath } from "node:url";
import type { RgbImage } from "@vd/media";
import { SafetensorsFile } from "@vd/tensor";

/** Path of a committed fixture file. */
export function fixturePath(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
}

/** Opens a committed fixture file. */
export function openFixture(name: string): SafetensorsFile {
  return SafetensorsFile.open(fixturePath(name));
}

/** A stored [H,W,3] picture. */
export function storedImage(file: SafetensorsFile, name: string): RgbImage {
  const [height, width] = file.entry(name).shape;
  return { width: width!, height: height!, data: file.readBytes(name) };
}

/** A picture that looks like noise and is the same everywhere: the top byte of i·2654435761 in 32 bits. */
export function noiseImage(width: number, height: number): RgbImage {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => Math.imul(i, 2654435761) >>> 24);
  return { width, height, data };
}

/** max |a − b|; NaN and other lengths count as infinite. */
export function maxDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let worst = a.length === b.length ? 0 : Number.POSITIVE_INFINITY;
  for (let i = 0; i < b.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!);
    if (!(difference <= worst)) worst = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return worst;
}
