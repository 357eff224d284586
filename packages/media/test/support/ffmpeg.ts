import { requireWasmFfmpeg, runWasmFfmpeg } from "../../src/ffmpeg/wasm";

/** @returns what FFmpeg as WebAssembly makes of a file: `words` go between the input and the output. */
export async function convertByFfmpeg(bytes: Uint8Array, words: readonly string[]): Promise<Uint8Array> {
  const ffmpeg = requireWasmFfmpeg("a test", "test", "skip it");
  const files = { input: "/input", output: "/output" };
  return runWasmFfmpeg(ffmpeg, { ...files, bytes, words: ["-v", "error", "-i", files.input, ...words, files.output] });
}

/** @returns the frames of a video as I420 planes. */
export const decodeByFfmpeg = (bytes: Uint8Array): Promise<Uint8Array> =>
  convertByFfmpeg(bytes, ["-f", "rawvideo", "-pix_fmt", "yuv420p"]);
