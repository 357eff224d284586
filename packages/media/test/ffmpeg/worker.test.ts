import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";

const WORKER = new URL("../../src/ffmpeg/ffmpeg-worker.js", import.meta.url).href;

/** Stands for FFmpeg's module: its result is the address that it finds, which the real one reads. */
const CORE = `module.exports = async () => ({
  setLogger() {}, exec: () => 0,
  FS: { writeFile() {}, readFile: () => new TextEncoder().encode(typeof self.location.href) },
});`;

it("looks like a browser's worker where a global has a getter alone, as in Deno", async () => {
  const core = join(temporaryFolder(), "core.cjs");
  writeFileSync(core, CORE);
  const code = `Object.defineProperty(globalThis, "location", { get: () => undefined, configurable: true });
    import(${JSON.stringify(WORKER)});`;
  const workerData = { core, input: "/in", output: "/out", words: [], bytes: new Uint8Array(1) };
  const [{ result }] = await once(new Worker(code, { eval: true, workerData }), "message");
  expect(new TextDecoder().decode(result)).toBe("string");
});
