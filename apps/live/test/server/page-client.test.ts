import type { LiveFrame } from "@vd/live";
import { expect, it } from "vitest";
import { InputTracker } from "../../src/game/input-tracker";
import { decodeFrame, type PictureMessage } from "../../src/protocol/frame-message";
import { MAX_ON_THE_WAY, PageClient } from "../../src/server/page-client";

const ACTIONS = ["none", "left"];
const DATA = new Uint8Array(3);

function frame(index: number, action = "none"): LiveFrame {
  const state = { repeated: false, late: false, cached: false, latencyMs: 1, drift: undefined };
  return { index, tick: index, width: 1, height: 1, data: DATA, action, steps: 1, ...state };
}

function client(encode: (picture: PictureMessage) => PictureMessage | Promise<PictureMessage> = (picture) => picture) {
  const sent: number[] = [];
  const inputs: number[] = [];
  const tracker = new InputTracker();
  const socket = {
    send: (message: Uint8Array | string) => {
      const { index, input } = decodeFrame(message as Uint8Array)!;
      sent.push(index);
      inputs.push(input);
    },
  };
  const errors: unknown[] = [];
  const page = new PageClient(socket, tracker, ACTIONS, encode, (error) => errors.push(error));
  return { sent, inputs, tracker, errors, client: page };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it("sends a page that never answers a few frames, and lets no queue grow", async () => {
  const { sent, client: page } = client();
  for (let i = 0; i < 1000; i++) {
    page.offer(frame(i), DATA);
    await settle();
  }
  expect(sent).toEqual([0, 1]);
  expect(sent.length).toBe(MAX_ON_THE_WAY);
  expect(page.numDropped).toBe(1000 - MAX_ON_THE_WAY - 1);
});

it("sends a slow page the newest frame as soon as it has drawn one", async () => {
  const { sent, client: page } = client();
  for (let i = 0; i < 10; i++) page.offer(frame(i), DATA);
  await settle();
  const before = sent.length;
  page.drawn(1);
  for (let i = 10; i < 20; i++) page.offer(frame(i), DATA);
  await settle();
  page.drawn(before + 1);
  await settle();
  expect(sent.at(-1)).toBe(19);
  expect(sent).toEqual([...sent].sort((a, b) => a - b));
});

it("sends a page that keeps up every frame", async () => {
  const { sent, client: page } = client();
  for (let i = 0; i < 50; i++) {
    page.offer(frame(i), DATA);
    await settle();
    page.drawn(i + 1);
  }
  expect(sent.length).toBe(50);
});

it("does not believe a page that has drawn more than it got", async () => {
  const { sent, client: page } = client();
  page.drawn(1_000_000);
  for (let i = 0; i < 10; i++) {
    page.offer(frame(i), DATA);
    await settle();
  }
  expect(sent.length).toBe(MAX_ON_THE_WAY);
});

it("encodes one picture at a time, in order", async () => {
  let running = 0;
  const { sent, client: page } = client(async (picture) => {
    expect(++running).toBe(1);
    await settle();
    running--;
    return picture;
  });
  for (let i = 0; i < 6; i++) {
    page.offer(frame(i), DATA);
    await settle();
    await settle();
    page.drawn(i + 1);
  }
  expect(sent.length).toBeGreaterThan(3);
  expect(sent).toEqual([...sent].sort((a, b) => a - b));
});

it("tells the page which of its key presses a frame has taken in", async () => {
  const { inputs, tracker, client: page } = client();
  const show = async (index: number, action: string) => {
    page.offer(frame(index, action), DATA);
    await settle();
    page.drawn(index + 1);
  };
  await show(0, "none");
  tracker.press(1, "left");
  await show(1, "none");
  await show(2, "left");
  tracker.press(2, "none");
  tracker.press(3, "left");
  await show(3, "left");
  await show(4, "left");
  expect(inputs).toEqual([0, 0, 1, 3, 3]);
});

it("goes on after a picture that could not be encoded", async () => {
  let count = 0;
  const {
    sent,
    errors,
    client: page,
  } = client(async (picture) => {
    if (count++ < 5) throw new Error("no encoder");
    return picture;
  });
  for (let i = 0; i < 8; i++) {
    page.offer(frame(i), DATA);
    await settle();
  }
  expect(errors.map(String)).toEqual(Array(5).fill("Error: no encoder"));
  expect(sent).toEqual([5, 6]);
});

it("forgets key presses that no frame takes in", () => {
  const tracker = new InputTracker();
  for (let i = 1; i <= 1000; i++) tracker.press(i, i % 2 === 0 ? "left" : "none");
  expect(tracker.takenIn("none")).toBe(937);
});
