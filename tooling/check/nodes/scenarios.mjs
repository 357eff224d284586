// Ways of loading and leaving the addon, one a run: node scenarios.mjs NAME. Prints one line of JSON; a crash is the end
// of the process by a signal.

import { copyFileSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { compile, Device, isVdError, verifyPrebuilds } from "./dist/api.mjs";

const self = fileURLToPath(import.meta.url);
const require = createRequire(self);
const NUM_WORKERS = 100;
const AT_ONCE = 10;

/** A linear layer that keeps two threads busy for some milliseconds. */
async function busyPlan(size = 256) {
  const plan = await compile(Device.cpu({ threads: 2 }), (g) => {
    const x = g.input("x", [1, 1, size, size]);
    const weight = g.input("weight", [size, size]);
    g.output("y", g.linear({ x, weight }));
  });
  plan.write("x", new Float32Array(size * size).fill(1));
  plan.write("weight", new Float32Array(size * size).fill(1 / size));
  return plan;
}

/** Whether the plan still computes the right numbers: rows of ones times 1/n sum to one. */
async function isRight(plan) {
  await plan.run();
  return plan.read("y").every((value) => Math.abs(value - 1) < 1e-5);
}

/** In a worker: computes until it is killed. */
async function runForever() {
  const plan = await busyPlan();
  parentPort.postMessage("running");
  for (;;) await plan.run();
}

/** Starts a worker and kills it in the middle of its work, a little later each time. */
async function startAndKill(index) {
  const worker = new Worker(self, { workerData: "forever" });
  await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await new Promise((resolve) => setTimeout(resolve, index % 7));
  return worker.terminate();
}

const scenarios = {
  /** 100 workers started and killed while their ops run, and the main thread's own work goes on. */
  async workers() {
    const plan = await busyPlan();
    let killed = 0;
    let right = 0;
    for (let first = 0; first < NUM_WORKERS; first += AT_ONCE) {
      const batch = Array.from({ length: AT_ONCE }, (_, i) => startAndKill(first + i));
      if (await isRight(plan)) right++;
      killed += (await Promise.all(batch)).length;
    }
    return { killed, right, after: await isRight(plan) };
  },

  /** Loaded by workers only: the last of them gone, it is loaded again. */
  async reload() {
    await Promise.all([startAndKill(1), startAndKill(2)]);
    await startAndKill(3);
    return { after: await isRight(await busyPlan()) };
  },

  /** The same file loaded again, and a copy of it under another name beside it. */
  async twice() {
    const path = require("node-gyp-build").path(join(self, ".."));
    const first = require(path);
    delete require.cache[path];
    const again = require(path);
    const copy = join(mkdtempSync(join(tmpdir(), "vd-twice-")), "other.node");
    copyFileSync(path, copy);
    const other = require(copy);
    const ids = [first, again, other].map((addon) => addon.opIds().join());
    return { same: new Set(ids).size === 1, numOps: first.opIds().length, after: await isRight(await busyPlan()) };
  },

  /** The process ends while a run is under way. */
  async exit() {
    const plan = await busyPlan(1024);
    for (let i = 0; i < 8; i++) void plan.run().catch(() => {});
    setTimeout(() => {
      process.stdout.write('{"leaving":true}\n');
      process.exit(0);
    }, 5);
  },

  /** Nothing special: what a program sees that may not load native code, or whose files were changed. */
  async load() {
    try {
      return { right: await isRight(await busyPlan()) };
    } catch (error) {
      if (!isVdError(error)) throw error;
      return { code: error.code, message: error.message };
    }
  },

  verify: () => ({ numVerified: verifyPrebuilds().length }),
};

if (!isMainThread && workerData === "forever") {
  await runForever();
} else {
  const result = await scenarios[process.argv[2]]();
  if (result) console.log(JSON.stringify({ ...result, node: process.versions.node, napi: process.versions.napi }));
}
