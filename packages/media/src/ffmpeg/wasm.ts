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

/** Paths of FFmpeg as WebAssembly. */
export interface WasmFfmpeg {
  /** The module that starts it. */
  core: string;
  /** Its code. */
  code: string;
}

/**
 * Finds FFmpeg as WebAssembly. purpose: what needs it, such as `.mp4`. where: who asks. otherwise: what else the user can do.
 *
 * @throws VdError `unsupported` where the package is not installed
 */
export function requireWasmFfmpeg(purpose: string, where: string, otherwise: string): WasmFfmpeg {
  const require = createRequire(import.meta.url);
  try {
    return { core: require.resolve("@ffmpeg/core"), code: require.resolve("@ffmpeg/core/wasm") };
  } catch (cause) {
    const expected = `FFmpeg as WebAssembly, the package @ffmpeg/core, which ${purpose} needs here`;
    const hint = `Install it (npm install @ffmpeg/core), or ${otherwise}.`;
    throw new VdError({ code: "unsupported", where, expected, got: "none that is installed", hint, cause });
  }
}

/** Compiled once for all runs of the process, by path. */
const compiled = new Map<string, Promise<object>>();

async function compile(path: string): Promise<object> {
  return WebAssembly.compile(await readFile(path));
}

function compiledCode({ code }: WasmFfmpeg): Promise<object> {
  const found = compiled.get(code) ?? compile(code);
  compiled.set(code, found);
  found.catch(() => compiled.delete(code));
  return found;
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
  const wasm = await compiledCode(ffmpeg);
  signal?.throwIfAborted();
  const { port1: port, port2: workersPort } = new MessageChannel();
  const numSent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { pieceOf, ...plain } = { pieceOf: undefined, ...work };
  const worker = new Worker(new URL("./ffmpeg-worker.js", import.meta.url), {
    workerData: { ...plain, core: ffmpeg.core, wasm, port: workersPort, numSent },
    transferList: [workersPort],
    // Words for the main program, such as --input-type, are none of its.
    execArgv: [],
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
