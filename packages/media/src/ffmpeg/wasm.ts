import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { MessageChannel, Worker } from "node:worker_threads";
import { VdError } from "@vd/kernels-native";

/** One run of FFmpeg, from its arguments to a file. Paths are those of its own file system, which is in memory. */
interface CommonWork {
  /** Arguments. */
  words: readonly string[];
  /** Where the arguments say that the input is. */
  input: string;
  /** Where they say that the result goes. */
  output: string;
}

/** {@link CommonWork} with its input. */
export type WasmWork = CommonWork &
  (
    | {
        /** The input, whole. */
        bytes: Uint8Array;
      }
    | {
        /** Of how many pieces the input consists. */
        numPieces: number;
        /** Makes a piece when FFmpeg comes to it; its buffer is given away. */
        pieceOf(index: number): Promise<Uint8Array>;
      }
  );

/** The part of Node.js's global object that is used here; its types are with those of browsers only. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** FFmpeg as WebAssembly: the module that starts it, and its compiled code. */
export interface WasmFfmpeg {
  core: string;
  wasm: object;
}

/** Compiled once for all runs of the process. */
let compiled: Promise<WasmFfmpeg> | undefined;

async function compileFfmpeg(): Promise<WasmFfmpeg> {
  const require = createRequire(import.meta.url);
  const core = require.resolve("@ffmpeg/core");
  return { core, wasm: await WebAssembly.compile(await readFile(require.resolve("@ffmpeg/core/wasm"))) };
}

/**
 * Makes sure that FFmpeg is there as WebAssembly, and compiles it. purpose: what needs it, such as `.mp4`. where: who asks.
 * otherwise: what else the user can do.
 *
 * @throws VdError `unsupported` where the package is not installed
 */
export async function requireWasmFfmpeg(purpose: string, where: string, otherwise: string): Promise<WasmFfmpeg> {
  compiled ??= compileFfmpeg();
  try {
    return await compiled;
  } catch (cause) {
    compiled = undefined;
    const expected = `FFmpeg as WebAssembly, the package @ffmpeg/core, which ${purpose} needs here`;
    const hint = `Install it (npm install @ffmpeg/core), or ${otherwise}.`;
    const got = (cause as Error).message.split("\n")[0]!;
    throw new VdError({ code: "unsupported", where, expected, got, hint, cause });
  }
}

/** What the worker sends: the index of the piece that it wants, the result, or FFmpeg's words of why there is none. */
type WorkerMessage = { piece: number } | { result: Uint8Array } | { failed: string };

/**
 * Runs FFmpeg in a worker thread and returns the file that it writes. It is one thread of WebAssembly: the same input gives
 * the same bytes on every machine.
 *
 * @throws Error with FFmpeg's words if it fails; the signal's reason when it is cancelled
 */
export async function runWasmFfmpeg(ffmpeg: WasmFfmpeg, work: WasmWork, signal?: AbortSignal): Promise<Uint8Array> {
  signal?.throwIfAborted();
  const { port1: port, port2: workersPort } = new MessageChannel();
  const numSent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { pieceOf, ...plain } = { pieceOf: undefined, ...work };
  const worker = new Worker(new URL("./ffmpeg-worker.js", import.meta.url), {
    workerData: { ...ffmpeg, ...plain, port: workersPort, numSent },
    transferList: [workersPort],
  });
  const sendPiece = async (index: number) => {
    const piece = await pieceOf!(index);
    port.postMessage(piece, [piece.buffer as ArrayBuffer]);
    Atomics.add(numSent, 0, 1);
    Atomics.notify(numSent, 0);
  };
  try {
    return await resultOf(worker, sendPiece, signal);
  } finally {
    port.close();
    await worker.terminate();
  }
}

async function resultOf(
  worker: Worker,
  sendPiece: (index: number) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  let stop = () => {};
  const ended = new Promise<Uint8Array>((resolve, reject) => {
    stop = () => reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    worker.on("message", (message: WorkerMessage) => {
      if ("piece" in message) sendPiece(message.piece).catch(reject);
      else if ("result" in message) resolve(message.result);
      else reject(new Error(message.failed));
    });
    worker.once("error", reject);
    worker.once("exit", (status) => reject(new Error(`its thread ended with status ${status}`)));
  });
  return ended.finally(() => signal?.removeEventListener("abort", stop));
}
