// @vd/media alone: a picture cut and resized, and a short video as MP4, WebM, GIF and PNG frames. Writes into a folder if one is named:
// node examples/media.mjs FOLDER
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodePng, fitPicture, framesToUint8, loadImage, outputTarget, resizeLanczos, writeVideo } from "@vd/media";

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "vd-example-"));
mkdirSync(folder, { recursive: true });

// A picture from the bytes of a file; a path does as well.
const [width, height] = [96, 64];
const pixel = (x, y) => [(255 * x) / width, (255 * y) / height, 90];
const gradient = Array.from({ length: width * height }, (_, i) => pixel(i % width, Math.floor(i / width)));
const image = await loadImage(await encodePng({ width, height }, Uint8Array.from(gradient.flat())));
const square = await fitPicture(image, 32, 32, { focus: { x: 0, y: 0.5 } });
console.log("cut to a square, not squeezed:", square.width, "x", square.height);
const small = await resizeLanczos(square, 32, 32);
console.log("resized as Pillow does:", small.width, "x", small.height, "first pixel", ...small.data.subarray(0, 3));

// Frames as a decoder gives them, [F,3,H,W] in [-1,1], become pixels in 8 bits, [F,H,W,3].
const numFrames = 8;
const area = width * height;
const decoded = Float32Array.from({ length: numFrames * 3 * area }, (_, i) => {
  const [frame, column] = [Math.floor(i / (3 * area)), i % width];
  return Math.sin((column / width) * 2 * Math.PI + frame);
});
const data = framesToUint8(decoded, { numFrames, height, width });
const frame = (i) => data.subarray(i * area * 3, (i + 1) * area * 3);
const video = { width, height, numFrames, fps: 7, data, frame };
for (const name of ["clip.mp4", "clip.webm", "clip.gif", "frame-%d.png"]) {
  const { encoder, fileBytes } = await writeVideo(outputTarget(join(folder, name)), video);
  console.log(`${name}: ${fileBytes > 0 ? "written" : "empty"} by ${encoder}`);
}
if (process.argv[2] === undefined) rmSync(folder, { recursive: true });
