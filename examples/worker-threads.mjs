// @vd/svd-pipeline in worker threads: two workers generate beside each other, report progress to the main thread, and one
// of them is told to stop.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { isVdError } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

if (isMainThread) {
  const start = (seed) => new Worker(fileURLToPath(import.meta.url), { workerData: { seed } });
  /** What a worker says at the end. onStep: called for each step it reports. */
  const resultOf = (worker, onStep = () => {}) =>
    new Promise((resolve, reject) => {
      worker.on("message", (message) => ("step" in message ? onStep(message) : resolve(message)));
      worker.once("error", reject);
    });
  const [first, second] = [start(42), start(42)];
  const stopped = start(7);
  const results = [resultOf(first), resultOf(second), resultOf(stopped, () => stopped.postMessage("stop"))];
  const [a, b, c] = await Promise.all(results);
  console.log("frames:", a.numFrames, b.numFrames);
  console.log("same video from both workers:", Buffer.compare(a.data, b.data) === 0);
  console.log("the third was", c.code);
  await Promise.all([first, second, stopped].map((worker) => worker.terminate()));
} else {
  const stop = new AbortController();
  parentPort.once("message", () => stop.abort());
  const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
  // A few threads each, since there are several workers.
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads: 2 });
  try {
    const { numFrames, data } = await pipeline.generate({
      image: join(model, "samples/one-ball.png"),
      numFrames: 4,
      steps: 4,
      seed: workerData.seed,
      signal: stop.signal,
      onProgress: ({ stage, step }) => stage === "denoise" && parentPort.postMessage({ step }),
    });
    parentPort.postMessage({ numFrames, data });
  } catch (error) {
    if (!isVdError(error)) throw error;
    parentPort.postMessage({ code: error.code });
  }
}
