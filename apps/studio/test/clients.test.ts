import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { experimental_generateVideo as generateVideo } from "ai";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createStudioProvider } from "../src/ai-sdk";
import { PICTURE, startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";

const { folder, remove } = temporaryFolder();
let studio: TestStudio;
beforeAll(async () => {
  studio = await startTestStudio(folder);
});
afterAll(async () => {
  await studio.stop();
  remove();
});

it("the official client of OpenAI makes, polls, lists, downloads and deletes a video", async () => {
  const client = new OpenAI({ apiKey: "none", baseURL: `${studio.url}v1` });
  const more = { steps: 1, numFrames: 2, previewEvery: 0 };
  const queued = await client.videos.create({
    ...{ model: "tiny-svd" as never, prompt: "a ball", size: "32x32" as never, ...more },
    input_reference: await toFile(await readFile(PICTURE), "ball.png", { type: "image/png" }),
  });
  let video = queued;
  while (video.status !== "completed" && video.status !== "failed") {
    await wait(50);
    video = await client.videos.retrieve(queued.id);
  }
  expect(video).toMatchObject({ status: "completed", progress: 100, prompt: "a ball", size: "32x32", object: "video" });
  const mp4 = Buffer.from(await (await client.videos.downloadContent(video.id)).arrayBuffer());
  expect(mp4.toString("latin1", 4, 8)).toBe("ftyp");
  const sheet = await client.videos.downloadContent(video.id, { variant: "spritesheet" });
  expect(sheet.headers.get("content-type")).toBe("image/png");
  const { data } = await client.videos.list({ limit: 5 });
  expect(data.map(({ id }) => id)).toContain(video.id);
  expect(await client.videos.delete(video.id)).toMatchObject({ deleted: true });
  await expect(client.videos.retrieve(video.id)).rejects.toThrow("There is no such video");
  const refused = client.videos.create({
    prompt: "",
    seconds: "x" as never,
    input_reference: await toFile(await readFile(PICTURE), "a.png"),
  });
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining("[seconds] expected") });
});

it("the AI SDK makes a video by the provider", async () => {
  const provider = createStudioProvider({ baseURL: `${studio.url}v1`, pollMs: 50 });
  const { video, warnings, providerMetadata } = await generateVideo({
    model: provider.video("tiny-svd"),
    prompt: { image: await readFile(PICTURE), text: "a ball" },
    ...{ resolution: "32x32", seed: 7, providerOptions: { vd: { steps: 1, numFrames: 2 } } },
  });
  expect(video.mediaType).toBe("video/mp4");
  expect(Buffer.from(video.uint8Array).toString("latin1", 4, 8)).toBe("ftyp");
  expect(warnings).toEqual([
    { type: "unsupported", feature: "prompt", details: "Stable Video Diffusion is told a picture only." },
  ]);
  expect(providerMetadata.vd).toMatchObject({ width: 32, numFrames: 2, seed: "7" });
});

it("the provider says what the server refuses, and cancels what nobody waits for", async () => {
  const provider = createStudioProvider({ baseURL: `${studio.url}v1`, pollMs: 20 });
  const image = await readFile(PICTURE);
  const call = (steps: number, abortSignal?: AbortSignal) =>
    generateVideo({
      ...{ model: provider.video("tiny-svd"), prompt: { image }, maxRetries: 0, resolution: "32x32" as const },
      ...{ providerOptions: { vd: { steps, numFrames: 2 } }, ...(abortSignal && { abortSignal }) },
    });
  await expect(call(0)).rejects.toThrow("[steps] expected a whole number from 1");
  await expect(call(500, AbortSignal.timeout(300))).rejects.toThrow();
  const { data } = await studio.json<{ data: { error: { code: string } | null }[] }>("v1/videos?limit=1");
  expect(data[0]!.error?.code).toBe("cancelled");
});
