import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Browser, chromium } from "../../../../tooling/testing/browser";
import { buildPage } from "../../src/page/build.mjs";
import { FAKE_PICTURES, fakeSessions } from "../support/fake-session";
import { type Running, startVdLive } from "../support/harness";

/** The first pixel of the game. */
const PIXEL = `[...document.getElementById("screen").getContext("2d").getImageData(0, 0, 1, 1).data]`;
/** Numbers of the fake's actions show in green: 40 times as much. */
const greenOf = (action: number) => greenIs(40 * action);
const greenIs = (green: number) => `${PIXEL}[1] === ${green}`;
const text = (id: string) => `document.getElementById("${id}").textContent`;
const click = (id: string) => `document.getElementById("${id}").click()`;

/** A server with fake sessions and a browser that plays them. */
async function playedPage(
  fakes: ReturnType<typeof fakeSessions>,
  words: readonly string[],
): Promise<[Running, Browser]> {
  const page = await buildPage();
  const all = ["--no-open", "--port", "0", ...words];
  const live = startVdLive(all, { openSession: fakes.openSession, readPage: async () => page });
  const browser = await Browser.start();
  await browser.emulate(1280, "light");
  await browser.open(await live.url);
  await browser.until(`document.documentElement.dataset.frame > 2`);
  return [live, browser];
}

describe.skipIf(!chromium)("the page in a browser (needs Chromium)", () => {
  const fakes = fakeSessions();
  let browser: Browser;
  let live: Running;

  beforeAll(async () => {
    [live, browser] = await playedPage(fakes, []);
  });
  afterAll(async () => {
    live?.stop();
    await live?.ended;
    await browser?.close();
  });

  it("shows frames that change, at a whole number of pixels for one", async () => {
    const first = await browser.evaluate<number[]>(PIXEL);
    await browser.until(`${PIXEL}[0] !== ${first[0]}`);
    const scale = await browser.evaluate<number>(
      `document.getElementById("screen").getBoundingClientRect().width / document.getElementById("screen").width`,
    );
    expect(scale).toBeGreaterThanOrEqual(5);
    expect(scale).toBe(Math.round(scale));
    await browser.until(`${text("fps")} !== "–"`);
  });

  it("steers by keys, alone and together, and lets go when the window loses the focus", { retry: 2 }, async () => {
    await browser.key("keyDown", "ArrowRight");
    await browser.until(greenOf(2));
    await browser.key("keyDown", "Space");
    await browser.until(greenOf(5));
    await browser.key("keyUp", "ArrowRight");
    await browser.until(greenOf(3));
    await browser.evaluate(`window.dispatchEvent(new Event("blur"))`);
    await browser.until(greenOf(0));
    expect(Number.parseFloat(await browser.evaluate<string>(text("key-ms")))).toBeLessThan(120);
  });

  it("steers by touch", async () => {
    const touch = (name: string) =>
      `document.querySelector("#pad button").dispatchEvent(new PointerEvent("${name}", { pointerId: 1, bubbles: true }))`;
    await browser.evaluate(
      `document.querySelector("#pad button").setPointerCapture = () => {}; ${touch("pointerdown")}`,
    );
    await browser.until(greenOf(1));
    await browser.evaluate(touch("pointerup"));
    await browser.until(greenOf(0));
  });

  it("pauses and goes on", async () => {
    await browser.evaluate(click("pause"));
    await browser.until(`${text("pause")} === "Play" && !document.getElementById("veil").hidden`);
    expect(fakes.opened.at(-1)!.paused).toBe(true);
    const standing = await browser.evaluate<number[]>(PIXEL);
    await browser.evaluate(click("pause"));
    await browser.until(`${text("pause")} === "Pause" && ${PIXEL}[0] !== ${standing[0]}`);
  });

  it("tells no time of a key that was pressed in a pause", async () => {
    // Anew, so that the time would be the only one.
    await browser.open(await live.url);
    await browser.until(`document.documentElement.dataset.frame > 2`);
    await browser.evaluate(click("pause"));
    await browser.until(`${text("pause")} === "Play"`);
    for (const type of ["keyDown", "keyUp"] as const) await browser.key(type, "ArrowLeft");
    await setTimeout(100);
    await browser.evaluate(click("pause"));
    const frame = await browser.evaluate<number>("Number(document.documentElement.dataset.frame)");
    await browser.until(`document.documentElement.dataset.frame > ${frame + 5}`);
    expect(await browser.evaluate<string>(text("key-ms"))).toBe("–");
  });

  it("leaves whoever goes by keyboard where they are", async () => {
    await browser.evaluate(`document.getElementById("steps").focus()`);
    await browser.type("ArrowDown");
    await browser.until(`document.getElementById("steps").value === "2"`);
    await expect.poll(() => fakes.opened.at(-1)!.parameters.steps).toBe(2);
    expect(await browser.evaluate(`document.activeElement.id`)).toBe("steps");
    await browser.type("ArrowUp");
    await expect.poll(() => fakes.opened.at(-1)!.parameters.steps).toBe(1);
    await browser.evaluate(`document.getElementById("recover").focus()`);
    await browser.type("Space");
    await expect.poll(() => fakes.opened.at(-1)!.parameters.guard).toEqual({ recover: 0 });
    expect(await browser.evaluate(`document.activeElement.id`)).toBe("recover");
    // The pointer goes back to the game, which keys then steer.
    await browser.press("recover");
    await expect.poll(() => fakes.opened.at(-1)!.parameters.guard).not.toEqual({ recover: 0 });
    await browser.until(`document.activeElement.id === "screen"`);
  });

  it("takes other steps, and keeps a moment to go back to", async () => {
    await browser.evaluate(
      `const list = document.getElementById("steps"); list.value = "2"; list.dispatchEvent(new Event("change"))`,
    );
    expect(await browser.evaluate(`document.getElementById("back").disabled`)).toBe(true);
    await browser.evaluate(click("keep"));
    await browser.until(`!document.getElementById("back").disabled && document.getElementById("steps").value === "2"`);
    const kept = await browser.evaluate<number>("Number(document.documentElement.dataset.frame)");
    await browser.until(`document.documentElement.dataset.frame > ${kept + 15}`);
    const wentBack = await browser.record(`document.documentElement.dataset.frame < ${kept + 15}`);
    await browser.evaluate(
      `{ const list = document.getElementById("steps"); list.value = "1"; list.dispatchEvent(new Event("change")); }`,
    );
    await expect.poll(() => fakes.opened.at(-1)!.parameters.steps).toBe(1);
    await browser.evaluate(click("back"));
    await browser.until(`${wentBack}.includes(true)`);
    await browser.until(`document.getElementById("steps").value === "2"`);
  });

  it("starts a new game with another seed from another start state", async () => {
    await browser.evaluate(
      `document.querySelector("#starts [value=snow-sunset]").checked = true;
       document.getElementById("seed").value = "7"; document.querySelector("#new button").click()`,
    );
    await browser.until(`${text("status")} === "snow-sunset, seed 7"`);
    expect(fakes.opened.at(-1)!.options).toMatchObject({ start: "snow-sunset", seed: 7, steps: 2 });
    await browser.until(`document.querySelector("#starts img").naturalWidth > 0`);
  });

  it("sends the camera's pictures, cut to the model's shape", async () => {
    await browser.evaluate(click("camera"));
    await browser.until(`document.getElementById("camera").getAttribute("aria-pressed") === "true"`);
    const session = fakes.opened.at(-1)!;
    // The fake camera's picture is coloured and moves.
    await expect.poll(() => session.pushed.length).toBeGreaterThan(3);
    const { width, height, data } = session.pushed.at(-1)!;
    expect([width, height, data.length]).toEqual([96, 64, 96 * 64 * 4]);
    expect(new Set(data).size).toBeGreaterThan(3);
    await browser.evaluate(click("camera"));
  });

  it("starts paused where less motion is asked for", async () => {
    await browser.emulate(400, "dark", "reduce");
    await browser.open(await live.url);
    await browser.until(`${text("pause")} === "Play"`);
    await browser.evaluate(click("pause"));
    await browser.until(`${text("pause")} === "Pause"`);
  });

  it.each([
    [1280, "light"],
    [1280, "dark"],
    [400, "light"],
    [400, "dark"],
  ] as const)("fits into %i pixels, %s, with an empty console", async (width, theme) => {
    await browser.emulate(width, theme);
    await browser.open(await live.url);
    await browser.until(
      `document.documentElement.dataset.frame > 2 && document.querySelector("#starts img")?.complete`,
    );
    const { scrollWidth } = await browser.evaluate<{ scrollWidth: number }>(
      `({ scrollWidth: document.documentElement.scrollWidth })`,
    );
    expect(scrollWidth).toBeLessThanOrEqual(width);
    const small = await browser.evaluate<string[]>(
      `[...document.querySelectorAll("button, select")].filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44).map((one) => one.id)`,
    );
    expect(small).toEqual([]);
    if (width === 400)
      expect(await browser.evaluate(`getComputedStyle(document.getElementById("pad")).display`)).toBe("grid");
    // Chromium has advice for whoever reads pixels back, which only this test does.
    expect(browser.console.filter((line) => !line.includes("willReadFrequently"))).toEqual([]);
  });
});

it.skipIf(!chromium)(
  "says over the picture that the connection is lost, once, and plays on when it is back",
  async () => {
    const fakes = fakeSessions();
    const [live, browser] = await playedPage(fakes, []);
    const url = new URL(await live.url);
    const said = await browser.record(text("status"));
    live.stop();
    await live.ended;
    await browser.until(`${text("veil")} === "No connection" && !document.getElementById("veil").hidden`);
    expect(await browser.evaluate(text("fps"))).toBe("–");
    const page = await buildPage();
    const again = startVdLive(["--no-open", "--port", url.port], {
      openSession: fakes.openSession,
      readPage: async () => page,
    });
    await browser.until(`document.getElementById("veil").hidden`);
    const losses = await browser.evaluate<string[]>(`${said}.filter((words) => words.includes("lost"))`);
    expect(losses).toHaveLength(1);
    again.stop();
    await again.ended;
    await browser.close();
  },
  40_000,
);

describe.skipIf(!chromium)("the page of a model of pictures (needs Chromium)", () => {
  const fakes = fakeSessions(FAKE_PICTURES);
  let browser: Browser;
  let live: Running;
  const session = () => fakes.opened.at(-1)!;
  const value = (id: string) => `document.getElementById("${id}").value`;

  beforeAll(async () => {
    const words = ["--prompt", "a red fox", "--guidance", "full", "--guidance-scale", "2"];
    [live, browser] = await playedPage(fakes, words);
  });
  afterAll(async () => {
    live?.stop();
    await live?.ended;
    await browser?.close();
  });

  it("shows the words that are in use, and takes others by the keyboard while it runs", async () => {
    await browser.until(`${text("in-use")} === "a red fox" && ${value("prompt")} === "a red fox"`);
    await browser.evaluate(`document.getElementById("prompt").select(); document.getElementById("prompt").focus()`);
    // Keys of games mean nothing while somebody writes.
    await browser.call("Input.insertText", { text: "a blue whale, at night" });
    await browser.call("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", text: "\r" });
    await browser.until(`${text("in-use")} === "a blue whale, at night" && ${greenIs(22)}`);
    expect(session().parameters).toMatchObject({ prompt: "a blue whale, at night" });
    expect(await browser.evaluate(`document.activeElement.id`)).toBe("prompt");
  });

  it("moves strength and guidance by the keyboard, with their numbers beside them", async () => {
    for (const [id, name, key, amount] of [
      ["strength", "strength", "ArrowRight", 0.51],
      ["guidance", "guidanceScale", "ArrowLeft", 1.9],
    ] as const) {
      await browser.evaluate(`document.getElementById("${id}").focus()`);
      for (const type of ["keyDown", "keyUp"] as const) await browser.key(type, key);
      await expect.poll(() => session().parameters[name]).toBeCloseTo(amount, 5);
      expect(await browser.evaluate(text(`${id}-text`))).toBe(amount.toFixed(2));
    }
  });

  it("says what is wrong, keeps what was, and takes its words along into a new game", async () => {
    await browser.evaluate(`{
      const strength = document.getElementById("strength");
      strength.max = 2;
      strength.value = 2;
      strength.dispatchEvent(new Event("change"));
      strength.blur();
    }`);
    await browser.until(`${text("error")}.includes("at most 1") && Number(${value("strength")}) === 0.51`);
    await browser.evaluate(
      `document.getElementById("seed").value = "9"; document.querySelector("#new button").click()`,
    );
    await browser.until(`${text("status")} === "seed 9"`);
    expect(session().options).toMatchObject({ prompt: "a blue whale, at night", strength: 0.51, seed: 9 });
    await browser.until(`${text("in-use")} === "a blue whale, at night"`);
  });

  it.each([
    [1280, "light"],
    [1280, "dark"],
    [400, "light"],
    [400, "dark"],
  ] as const)("fits into %i pixels, %s, with names for all fields", async (width, theme) => {
    await browser.emulate(width, theme);
    await browser.open(await live.url);
    await browser.until(`document.documentElement.dataset.frame > 2 && !document.getElementById("words").hidden`);
    expect(await browser.evaluate<number>(`document.documentElement.scrollWidth`)).toBeLessThanOrEqual(width);
    const nameless = await browser.evaluate<string[]>(
      `[...document.querySelectorAll("#words input")].filter(({ labels }) => labels.length === 0).map(({ id }) => id)`,
    );
    expect(nameless).toEqual([]);
    expect(browser.console.filter((line) => !line.includes("willReadFrequently"))).toEqual([]);
  });
});

it.skipIf(!chromium)("a game has no words", async () => {
  const page = await buildPage();
  const live = startVdLive(["--no-open", "--port", "0"], { readPage: async () => page });
  const browser = await Browser.start();
  await browser.open(await live.url);
  await browser.until(`document.documentElement.dataset.frame > 2`);
  expect(await browser.evaluate(`document.getElementById("words").offsetParent`)).toBeNull();
  live.stop();
  await live.ended;
  await browser.close();
});
