import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { loadImage } from "@vd/media";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { fakeSessions } from "../support/fake-session";
import { startVdLive, vdLive } from "../support/harness";

const FRAME_BYTES = 96 * 64 * 3;

describe("frames into a pipe", () => {
  it("are bare pixels, one frame after the other, made with the actions", async () => {
    const words = ["-o", "-", "--format", "rgb", "--actions", "right:2,jump:1", "--frames", "7"];
    const { status, stdout, stderr } = await vdLive(words);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.length).toBe(7 * FRAME_BYTES);
    const greens = Array.from({ length: 7 }, (_, i) => stdout[i * FRAME_BYTES + 1]! / 40);
    expect(greens).toEqual([2, 2, 3, 2, 2, 3, 2]);
  });

  it("are y4m, which other programs read", async () => {
    const { status, stdout } = await vdLive(["-o", "-", "--frames", "3"]);
    expect(status).toBe(0);
    const [header] = stdout.toString("latin1").split("\n");
    expect(header).toBe("YUV4MPEG2 W96 H64 F50:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED");
    expect(stdout.length).toBe(header!.length + 1 + 3 * ("FRAME\n".length + (96 * 64 * 3) / 2));
  });

  it("wait for a reader that is slow, and end when it goes", async () => {
    const fakes = fakeSessions();
    const stdout = new PassThrough({ highWaterMark: FRAME_BYTES });
    const live = startVdLive(["-o", "-", "--format", "rgb"], { openSession: fakes.openSession, stdout });
    await new Promise((resolve) => setTimeout(resolve, 200));
    // Nobody reads: what fits into the stream and the frame that waits.
    expect(fakes.opened[0]!.stats().frames).toBeLessThan(5);
    stdout.destroy();
    expect(await live.ended).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("a recording", () => {
  it("is whole when the game is stopped, and leaves nothing else", async () => {
    const path = `${join(temporaryFolder(), "game")}/`;
    const spools = temporaryFolder();
    vi.stubEnv("TMPDIR", spools);
    onTestFinished(() => void vi.unstubAllEnvs());
    const fakes = fakeSessions();
    const live = startVdLive(["--no-open", "--port", "0", "--record", path], { openSession: fakes.openSession });
    const socket = new (await import("ws")).WebSocket(`${(await live.url).replace("http", "ws")}socket`);
    socket.on("error", () => {});
    await expect.poll(() => fakes.opened[0]!.stats().frames).toBeGreaterThan(8);
    live.stop();
    const { status, stderr } = await live.ended;
    expect(status).toBe(0);
    const count = Number(/game\/: (\d+) frames, \d+ bytes\./.exec(stderr)?.[1]);
    expect(count).toBeGreaterThan(8);
    const files = readdirSync(path).sort();
    expect(files.length).toBe(count);
    // Red counts the fake's frames.
    const reds = await Promise.all(files.map(async (name) => (await loadImage(join(path, name))).data[0]));
    expect(reds).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(readdirSync(spools)).toEqual([]);
  });

  it("is told of when there is none", async () => {
    const path = join(temporaryFolder(), "game.webp");
    const live = startVdLive(["--no-open", "--port", "0", "--record", path]);
    await live.url;
    live.stop();
    expect(await live.ended).toMatchObject({ status: 0, stderr: expect.stringContaining("the game had no frames") });
    expect(existsSync(path)).toBe(false);
  });
});

describe("a video file as input", () => {
  it("gives a picture for every frame, from the start again at its end", async () => {
    const folder = temporaryFolder();
    const clip = join(folder, "clip.mp4");
    const made = await vdLive(["--actions", "jump", "--frames", "5", "--record", clip]);
    expect(made.status).toBe(0);
    expect(statSync(clip).size).toBeGreaterThan(100);
    const fakes = fakeSessions();
    const words = ["-o", "-", "--format", "rgb", "--input", clip, "--frames", "12"];
    expect(await vdLive(words, { openSession: fakes.openSession })).toMatchObject({ status: 0, stderr: "" });
    const { pushed } = fakes.opened[0]!;
    expect(pushed.length).toBeGreaterThanOrEqual(12);
    expect(pushed.every(({ data }) => data.length === FRAME_BYTES)).toBe(true);
    // The clip's green is that of "jump".
    expect(Math.abs(pushed[0]!.data[1]! - 120)).toBeLessThan(8);
  });

  it("is let go of in its middle: no decoder keeps the program from ending", async () => {
    const clip = join(temporaryFolder(), "clip.mp4");
    expect((await vdLive(["--actions", "jump", "--frames", "60", "--record", clip])).status).toBe(0);
    const decoders = () => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
    const before = decoders();
    // More frames of it are left than fit into a pipe.
    const words = ["-o", "-", "--format", "rgb", "--input", clip, "--frames", "2"];
    expect(await vdLive(words)).toMatchObject({ status: 0, stderr: "" });
    await expect.poll(decoders).toBe(before);
  });
});

it.each([
  [["-o", "-", "--input", "webcam"], "[--input] expected a video file, since there is no page"],
  [["--actions", "right"], "[--actions] expected a place for the frames, got none. Add --output - or --record FILE."],
  [["-o", "-", "--actions", "fly"], "[--actions] expected ACTION or ACTION:FRAMES"],
  [["-o", "-", "--actions", "right:0"], "[--actions] expected ACTION or ACTION:FRAMES with commas between them"],
  [["--record", "game.avi"], "[--record] expected a file name that ends in"],
  [["--start", "moon"], 'got "moon"'],
  [["--port", "70000"], "[--port] expected a whole number from 0 to 65535"],
  [["--prot", "1"], "Did you mean --port?"],
  [["play"], "[arguments] expected options, or bench or drift, got another word"],
  [["bench", "--frames", "1"], "[--frames] expected a whole number from 10 to 1000"],
])("%j is wrong usage, in a sentence", async (argv, words) => {
  expect(
    await vdLive(["--no-open", ...argv].filter((word) => argv[0] !== "bench" || word !== "--no-open")),
  ).toMatchObject({
    ...{ status: 2, stderr: expect.stringContaining(words) },
  });
});

it("says what is wrong with a video that is none", async () => {
  const { status, stderr } = await vdLive(["-o", "-", "--input", "no-such-clip.mp4"]);
  expect(status).toBe(1);
  expect(stderr).toContain("[--input] expected a video file, got no such file (no-such-clip.mp4)");
});

it("says that a port is taken", async () => {
  const first = startVdLive(["--no-open", "--port", "0"]);
  const port = new URL(await first.url).port;
  const second = await vdLive(["--no-open", "--port", port]);
  expect(second).toMatchObject({ status: 1, stderr: expect.stringContaining(`got port ${port}, which is taken`) });
  first.stop();
  expect((await first.ended).status).toBe(0);
});
