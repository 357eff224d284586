import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLiveSession, createLiveSessions, type LiveSessionOptions } from "@vd/live";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { vdLive } from "../support/harness";

const MODEL = fileURLToPath(new URL("../../../../fixtures/stable-diffusion/model", import.meta.url));
const FRAME_BYTES = 32 * 32 * 3;
const openSession = (options: LiveSessionOptions) => createLiveSession({ ...options, threads: 1 });

it("a video file comes out as frames of what the prompt says, those of its own pictures", async () => {
  const clip = join(temporaryFolder(), "clip.gif");
  expect(await vdLive(["--record", clip, "--actions", "right:2,left:2", "--frames", "4"])).toMatchObject({ status: 0 });
  const words = ["-o", "-", "--format", "rgb", "--model", MODEL, "--input", clip, "--frames", "3"];
  const frames = async (...more: string[]) => {
    const { status, stdout, stderr } = await vdLive([...words, ...more], { openSession });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.length).toBe(3 * FRAME_BYTES);
    return stdout;
  };
  const cat = await frames("--prompt", "a photo of the cat");
  expect(await frames("--prompt", "a photo of the cat")).toEqual(cat);
  expect(await frames("--prompt", "the house")).not.toEqual(cat);
  const guided = ["--guidance", "initialize", "--negative-prompt", "the house", "--guidance-scale", "2"];
  expect(await frames("--prompt", "a photo of the cat", ...guided)).not.toEqual(cat);
});

it.each([
  [["--prompt", "a castle"], /--prompt\] expected a model of pictures and words, got tiny-live/],
  [["--model", MODEL, "--cache"], /--cache\] expected a model with live.json/],
  [["--model", MODEL, "--strength", "2"], /--strength/],
])("refuses %j", async (words, message) => {
  const { status, stderr } = await vdLive(["-o", "-", "--frames", "1", ...words], { openSession });
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});

it("bench times a model of pictures on two devices: sessions on both, and one session's parts", async () => {
  const json = join(temporaryFolder(), "live.json");
  const words = ["bench", "--model", MODEL, "--frames", "10", "--devices", "cpu,cpu", "--threads", "2", "--json", json];
  const { status, stdout } = await vdLive(words, { openSession: createLiveSession, openSessions: createLiveSessions });
  expect(status).toBe(0);
  expect(stdout.toString()).toMatch(/one session, denoiser on cpu, autoencoder on cpu: [\d.]+ frames a second\n/);
  expect(JSON.parse(readFileSync(json, "utf8"))).toMatchObject({ split: { devices: ["cpu", "cpu"] } });
});

it("bench times a model of pictures, with a picture pushed into every frame and no keys", async () => {
  const { status, stdout, stderr } = await vdLive(["bench", "--model", MODEL, "--frames", "10"], { openSession });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.toString()).toMatch(/^model on .*, 1 step a frame, 10 frames\n/);
  expect(stdout.toString()).not.toMatch(/key to picture/);
});

it.each([1, 2])("bench holds frames begun %i ahead against those made one by one", async (ahead) => {
  const json = join(temporaryFolder(), "live.json");
  const words = ["bench", "--model", MODEL, "--frames", "10", "--ahead", `${ahead}`, "--compare", "--json", json];
  const { status, stdout, stderr } = await vdLive(words, { openSession });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.toString()).toContain(
    `\n  none of ${24 + ahead} frames begun ahead differ from those made one by one\n`,
  );
  expect(JSON.parse(readFileSync(json, "utf8")).compared).toEqual({ frames: 24 + ahead, differing: 0 });
});

it.each([
  [["--model", MODEL], "model"],
  [["--random", "sd15-unet", "--ahead", "1"], "random sd15-unet"],
])("bench has nothing to compare with %j", async (words, got) => {
  const { status, stderr } = await vdLive(["bench", "--frames", "10", "--compare", ...words], { openSession });
  expect(status).toBe(2);
  expect(stderr).toContain(
    `[--compare] expected frames of a model of pictures, some of which are begun ahead, got ${got}. Add --ahead 1 or 2`,
  );
});
