// FFmpeg as WebAssembly in a worker thread: it runs from its arguments to its file without a pause, so it may not run on
// the main thread. JavaScript, since Node.js loads this file by itself, from the sources as from the package.
import { createRequire } from "node:module";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";

/** A device number that nothing else has. Source: emscripten-core/emscripten src/library_fs.js, `createDevice`. */
const MAJOR = 99;
/** FFmpeg's last lines, for a message. */
const KEPT_LINES = 20;

/**
 * @typedef {object} Work what `WasmWork` of ffmpeg-wasm.ts says, and
 * @property {string} core path of the module that makes an FFmpeg
 * @property {WebAssembly.Module} wasm its compiled code
 * @property {import("node:worker_threads").MessagePort} port pieces of the input come here, one for each `{ piece }` sent
 * @property {Int32Array} numSent pieces sent so far, in shared memory
 */

/** Waits for a piece of the input; blocks the thread. @param {Work} work @param {number} index */
function takePiece({ port, numSent }, index) {
  parentPort.postMessage({ piece: index });
  Atomics.wait(numSent, 0, index);
  return receiveMessageOnPort(port).message;
}

/** A device's `read` that gives all pieces, one after the other, and asks for each when it comes to it. @param {Work} work */
function pieceReader(work) {
  let [next, piece, at] = [0, new Uint8Array(0), 0];
  return (_stream, buffer, offset, length) => {
    if (at === piece.length) {
      if (next === work.numPieces) return 0;
      [piece, at] = [takePiece(work, next++), 0];
    }
    const count = Math.min(length, piece.length - at);
    buffer.set(piece.subarray(at, at + count), offset);
    at += count;
    return count;
  };
}

/** Makes this thread look like a worker of a browser, for which the module is built. Deno has some of these with getters alone. */
function becomeBrowserWorker() {
  const wanted = { self: globalThis, location: { href: "" }, importScripts: () => {} };
  for (const [name, value] of Object.entries(wanted))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/** @param {Work} work */
async function makeFfmpeg({ core, wasm }) {
  becomeBrowserWorker();
  return createRequire(import.meta.url)(core)({
    instantiateWasm(imports, onReady) {
      WebAssembly.instantiate(wasm, imports).then((instance) => onReady(instance, wasm));
      return {};
    },
  });
}

/** Puts the input into FFmpeg's file system: a file if it is whole, else a device. @param {Work} work */
function placeInput(FS, work) {
  if (work.bytes) return FS.writeFile(work.input, work.bytes);
  const device = FS.makedev(MAJOR, 0);
  const open = (stream) => {
    stream.seekable = false;
  };
  FS.registerDevice(device, { open, read: pieceReader(work) });
  FS.mkdev(work.input, device);
}

/** @param {Work} work */
async function run(work) {
  const ffmpeg = await makeFfmpeg(work);
  const lines = [];
  ffmpeg.setLogger(({ message }) => lines.push(message));
  placeInput(ffmpeg.FS, work);
  const status = ffmpeg.exec(...work.words);
  if (status !== 0) return parentPort.postMessage({ failed: lines.slice(-KEPT_LINES).join("\n") });
  const result = ffmpeg.FS.readFile(work.output);
  parentPort.postMessage({ result }, [result.buffer]);
}

// What it throws ends the thread, which tells whoever started it.
void run(workerData);
