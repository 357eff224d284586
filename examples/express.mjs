// @vd/svd-pipeline behind Express: POST a picture to /video, get an MP4. `PORT=3000 node examples/express.mjs` serves on that
// port; without one it asks itself for a video once and ends.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { devices, isVdError } from "@vd/kernels-native";
import { encodeBuiltin } from "@vd/media";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import express from "express";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);

/** Generations one after the other: each takes a whole generation's memory and all cores. */
let queue = Promise.resolve();
function enqueue(work) {
  const result = queue.then(work);
  queue = result.catch(() => {});
  return result;
}

const app = express();
app.get("/devices", (_request, response) => response.json(devices()));
app.post("/video", express.raw({ type: "image/*", limit: "20mb" }), async (request, response) => {
  // Whoever hangs up needs no video any more.
  const stop = new AbortController();
  response.once("close", () => stop.abort());
  const options = { image: request.body, numFrames: 4, steps: 2, seed: 42, signal: stop.signal };
  const video = await enqueue(() => pipeline.generate(options));
  response.type("video/mp4").send(Buffer.from(await encodeBuiltin("mp4", video)));
});
app.use((error, _request, response, next) => {
  if (response.headersSent || response.destroyed) return next(error);
  const { code = "internal", message } = isVdError(error) ? error : {};
  response.status(isVdError(error) ? 400 : 500).json({ code, message });
});

const port = Number(process.env.PORT ?? 0);
const server = app.listen(port, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;
console.log(port ? `POST a picture to ${url}/video` : "serving");
if (!port) {
  const post = (body) => fetch(`${url}/video`, { method: "POST", headers: { "content-type": "image/png" }, body });
  const answer = await post(readFileSync(join(model, "samples/one-ball.png")));
  const video = Buffer.from(await answer.arrayBuffer());
  console.log(answer.status, answer.headers.get("content-type"), video.includes("moov") ? "with a movie" : "without");
  const refused = await post("no picture");
  console.log(refused.status, JSON.stringify(await refused.json()));
  console.log((await (await fetch(`${url}/devices`)).json())[0].name);
  server.close();
}
