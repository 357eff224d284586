// What is tried in a real node.exe beside the conformance suite, one part a run: node.exe checks.mjs PART. Runs in the
// staged project, whose folder has a space and letters beyond ASCII in its name. Prints one line of JSON.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { allocateBuffer, Device, devices, isVdError, mapFile, startDriver, verifyPrebuilds } from "@vd/kernels-native";
import { compile } from "@vd/tensor";

const here = fileURLToPath(new URL(".", import.meta.url));
const failure = (body) => {
  try {
    return `no error but ${body()}`;
  } catch (error) {
    return isVdError(error) ? `${error.code}: ${error.message}` : String(error);
  }
};

/** silu of 64 numbers with four threads. */
async function silu() {
  const plan = await compile(Device.cpu({ threads: 4 }), (g) => {
    const x = g.input("x", [1, 1, 8, 8]);
    g.output("y", g.pointwise({ a: x, act: "silu" }));
  });
  const numbers = Float32Array.from({ length: 64 }, (_, i) => i / 8 - 4);
  plan.writeSync("x", numbers);
  await plan.run();
  const got = plan.readSync("y");
  const error = Math.max(...numbers.map((x, i) => Math.abs(got[i] - x / (1 + Math.exp(-x)))));
  return error < 1e-6;
}

const parts = {
  /** The addon in worker threads, several at once, each with threads of its own; then in the main thread. */
  async threads() {
    const numWorkers = 8;
    const program = `import { parentPort } from "node:worker_threads"; import { silu } from ${JSON.stringify(import.meta.url)};
      parentPort.postMessage(await silu());`;
    writeFileSync(join(here, "worker.mjs"), program);
    const answers = await Promise.all(
      Array.from(
        { length: numWorkers },
        () =>
          new Promise((resolve, reject) => {
            const worker = new Worker(new URL("worker.mjs", import.meta.url));
            worker.once("message", resolve).once("error", reject);
          }),
      ),
    );
    return { right: answers.filter(Boolean).length, numWorkers, main: await silu() };
  },

  /** Files are mapped by names with spaces and letters of several scripts. */
  paths() {
    const folder = join(here, "Größe 视频 ролик é");
    mkdirSync(folder, { recursive: true });
    const path = join(folder, "weights ü.bin");
    writeFileSync(path, Uint8Array.of(1, 2, 3, 4));
    const read = [...mapFile(path).readSync(new Uint8Array(4))];
    const copy = join(folder, "ещё одна копия.bin");
    copyFileSync(path, copy);
    const missing = failure(() => mapFile(join(folder, "nicht da.bin")));
    return { read, copied: mapFile(copy).bytes, missing, bytes: allocateBuffer(1 << 20).bytes };
  },

  /** What is said about GPUs, with whatever driver there is. */
  async driver() {
    return { usable: await startDriver(), devices: devices(), refused: failure(() => Device.cuda().kind) };
  },

  /** The binaries are those of the manifest. */
  verify() {
    return { verified: verifyPrebuilds().map(({ bytes, sha256 }) => ({ bytes, sha256 })) };
  },
};

export { silu };

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const result = await parts[process.argv[2]]();
  console.log(JSON.stringify({ ...result, platform: process.platform, node: process.versions.node }));
}
