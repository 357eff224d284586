import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLiveSite } from "@vd/live-app/site";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chromium } from "../../../../tooling/testing/browser";
import { addKeyCommand } from "../../src/commands/keys";
import { PICTURE, startTestStudio, type TestStudio } from "../support/harness";
import { LIMIT_MS, StudioPage } from "./support/page";

const VIDEO = `document.querySelector("video")`;
const FRAME = `document.querySelector('input[aria-label="Frame"]')?.valueAsNumber`;
/** As much of vd-live's page as is needed to see that its game runs, the socket opened again when it breaks off included; the page
 *  itself is built and tested in apps/live. */
const LIVE_PAGE = `<!doctype html><html lang="en"><title>Live</title><style>p { color: inherit }</style><p>Live</p><script>
  function connect() {
    const socket = new WebSocket(new URL("socket", location.href).href.replace("http", "ws"));
    socket.binaryType = "arraybuffer";
    let count = 0;
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") return;
      document.documentElement.dataset.frame = ++count;
      socket.send(JSON.stringify({ type: "drawn", count }));
    };
    socket.onclose = () => setTimeout(connect, 1500);
  }
  connect();
</script></html>`;
/** Building the page and starting a server from its sources, on a busy machine. */
const START_MS = 240_000;
/** Longer than a test waits for one thing, so that what it waited for is told. */
const TEST_MS = 2 * LIMIT_MS;
/** The frame that a video shows, counted from 0, at 7 frames a second. */
const shownFrame = (index: number) => `Math.floor(document.querySelectorAll("video")[${index}].currentTime * 7)`;

describe.skipIf(!chromium)("the page in a browser, with real runs (needs Chromium)", { timeout: TEST_MS }, () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-studio-page-"));
  const web = join(folder, "web");
  let studio: TestStudio;
  let page: StudioPage;

  beforeAll(async () => {
    const configFile = fileURLToPath(new URL("../../web/vite.config.ts", import.meta.url));
    mkdirSync(web);
    const openLive = async () => openLiveSite({}, LIVE_PAGE);
    [studio] = await Promise.all([
      startTestStudio(join(folder, "data"), ["--allow-private"], { page: web, openLive }),
      build({ configFile, logLevel: "error", build: { outDir: web, emptyOutDir: false } }),
    ]);
    page = await StudioPage.open(studio.url);
  }, START_MS);
  afterAll(async () => {
    await page?.browser.close();
    await studio?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    expect(page.browser.console).toEqual([]);
  });

  /** Sets what makes a run short, whatever was set before. */
  async function chooseShortRun(steps = 2): Promise<void> {
    await page.browser.evaluate(
      `document.querySelector("details").open = true; localStorage.removeItem("vd-studio-draft")`,
    );
    await page.fill("Length in frames, as a number", 4);
    await page.fill("Steps, as a number", steps);
    await page.fill("Width", 64);
    await page.fill("Height", 64);
  }

  async function generate(steps?: number): Promise<string> {
    await chooseShortRun(steps);
    await page.press("Generate");
    await page.until(`location.hash.startsWith("#/run/")`);
    return page.browser.evaluate<string>(`location.hash.slice("#/run/".length)`);
  }

  it("asks for a key where the server wants one, says which it does not know, and keeps the one it knows", async () => {
    const data = join(folder, "keyed");
    const [key] = (await addKeyCommand({ data, redis: undefined, videos: 5, perMinute: 600 }, "ana")).split("\n");
    const keyed = await startTestStudio(data, ["--host", "0.0.0.0"], { page: web });
    const visitor = await StudioPage.open(keyed.url);
    const { browser } = visitor;
    for (const theme of ["light", "dark"] as const) {
      await browser.emulate(400, theme);
      await visitor.until(`document.querySelector("dialog").open && document.activeElement.name === "key"`);
      expect(await visitor.faults()).toEqual([]);
      expect(await visitor.overflow()).toBe(0);
    }
    await browser.call("Input.insertText", { text: "sk-vd-wrong" });
    await browser.call("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", text: "\r" });
    await visitor.sees("The server does not know that key.");
    await visitor.fill("Key", ` ${key} `);
    await visitor.press("Continue");
    await visitor.until(`!document.querySelector("dialog").open`);
    // It is in a cookie that scripts cannot read, and holds for the next visit.
    expect(await browser.evaluate("document.cookie")).toBe("");
    await visitor.go("/");
    await visitor.sees("Videos that you make are kept here");
    await visitor.until(`document.querySelector("dialog").open === false`);
    expect(browser.console.filter((line) => !line.includes("401"))).toEqual([]);
    await browser.close();
    await keyed.stop();
  });

  it("is empty at first, says what to do, and is accessible", async () => {
    await page.sees("Start with a picture");
    await page.sees("Videos that you make are kept here");
    await page.sees("Ready · CPU");
    expect(await page.faults()).toEqual([]);
  });

  it("takes a picture from an address, and says why it cannot", async () => {
    const bytes = await readFile(PICTURE);
    const server = createServer(({ url }, response) => {
      if (url === "/ball.png") response.writeHead(200, { "content-type": "image/png" }).end(bytes);
      else response.writeHead(url === "/text" ? 200 : 404).end("no picture");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [path, sentence] of [
      ["/gone", "The server answered 404."],
      ["/text", "picture"],
    ] as const) {
      await page.fill("Address of a picture", `${base}${path}`);
      await page.press("Fetch");
      await page.until(`document.querySelector('[role="alert"]').innerText.includes(${JSON.stringify(sentence)})`);
    }
    expect(await page.faults()).toEqual([]);
    await page.fill("Address of a picture", `${base}/ball.png`);
    await page.press("Fetch");
    await page.sees("128×128");
    expect(page.browser.console.filter((line) => !line.includes("422"))).toEqual([]);
    page.browser.console.length = 0;
    server.close();
    await page.press("Remove the picture");
    await page.sees("Start with a picture");
  });

  it("shows every option of the contract", async () => {
    await page.press("Advanced");
    const { data } = await studio.json<{ data: { name: string; group: string; doc: string }[] }>("v1/options");
    const rows = data.filter(({ group }) => group === "video");
    expect(rows.length).toBeGreaterThan(10);
    const text = (await page.text("form")) ?? "";
    // Those that have a control of their own show no sentence.
    const own = ["numFrames", "motionBucketId", "steps", "sampler", "seed", "fit", "focus", "fast"];
    const without = rows.filter(({ name, doc }) => !own.includes(name) && !text.includes(doc.replaceAll("`", "")));
    expect(without.map(({ name }) => name)).toEqual([]);
    for (const label of ["Length in frames", "Motion", "Steps", "Sampler", "Seed"])
      expect(await page.value(label), label).toBeDefined();
    expect(await page.faults()).toEqual([]);
  });

  it("says what is wrong with a value at once", async () => {
    await page.fill("Width", "63");
    await page.sees("Width is a whole number from 8 to 16384, a multiple of 8.");
    await page.fill("Width", "");
  });

  it("refuses a file that is no picture in a sentence", async () => {
    await page.dropText("letter.png");
    await page.until(`document.querySelector('[role="alert"]').innerText !== ""`);
    expect(await page.text('[role="alert"]')).toMatch(/picture/);
    await page.press("Close this message");
    // The server's refusal of the picture is a line in the console, as every refused request is.
    page.browser.console.length = 0;
  });

  it("takes a picture that is dropped, shows how it is cut and lets the part be moved", async () => {
    await page.drop(600, 200);
    await page.sees("Uses 200×200 of 600×200");
    const share = `(() => {
      const part = document.querySelector("[data-part]").getBoundingClientRect();
      const whole = document.querySelector("[data-part]").parentElement.getBoundingClientRect();
      return [(part.left - whole.left) / whole.width, part.width / whole.width];
    })()`;
    const [left, width] = await page.browser.evaluate<[number, number]>(share);
    expect(left).toBeCloseTo(1 / 3, 2);
    expect(width).toBeCloseTo(1 / 3, 2);
    await page.drag("[data-part]", 500, 0);
    await page.until(`${share}[0] > 0.66`);
    // The keyboard moves it as well.
    await page.browser.evaluate(`document.querySelector('[aria-label^="Part that stays, from left"]').focus()`);
    const before = await page.browser.evaluate<string>(`document.activeElement.value`);
    await page.key("ArrowLeft");
    expect(Number(await page.browser.evaluate(`document.activeElement.value`))).toBe(Number(before) - 1);
    expect(await page.faults()).toEqual([]);
    await page.browser.evaluate(`document.querySelector('input[value="contain"]').click()`);
    await page.until(`document.querySelector("[data-part]") === null`);
    await page.browser.evaluate(`document.querySelector('input[value="cover"]').click()`);
  });

  it("takes a picture that is pasted", async () => {
    await page.paste(120, 160);
    await page.sees("120×160");
  });

  it("tells time and memory before the run", async () => {
    await chooseShortRun();
    await page.until(`/about|under/.test(document.querySelector("form dl")?.innerText ?? "")`);
    expect(await page.text("form dl")).toMatch(/Time\s+(about|under) .* s\s+Memory\s+\d+ [MG]iB/);
  });

  it("shows the preview, the progress and the time that is left of a run, then plays it", async () => {
    const shown = await page.browser.record(
      `document.querySelector('img[alt^="Preview after step"]') ? (document.querySelector("progress")?.value ?? 0) : 0`,
    );
    const id = await generate(8);
    await page.until(`Math.max(...${shown}) > 0`);
    expect(await page.faults()).toEqual([]);
    await page.sees("Finished");
    await page.until(`${VIDEO}?.currentTime > 0`);
    expect(await page.browser.evaluate(`${VIDEO}.paused`)).toBe(false);
    expect((await studio.ended(id)).settings).toMatchObject({ numFrames: 4, steps: 8, width: 64, height: 64 });
    expect(await page.faults()).toEqual([]);
  });

  it("goes through the frames by keys and by the slider, and plays in a loop", async () => {
    await page.browser.evaluate(`document.getElementById("stage").focus()`);
    await page.key("End");
    await page.until(`${VIDEO}.paused && ${FRAME} === 3 && ${shownFrame(0)} === 3`);
    await page.key("ArrowLeft");
    await page.until(`${FRAME} === 2 && ${shownFrame(0)} === 2`);
    await page.fill("Frame", 1);
    await page.until(`${shownFrame(0)} === 1`);
    const frames = await page.browser.record(FRAME);
    await page.key(" ", "Space");
    await page.until(`!${VIDEO}.paused`);
    // Past the end it begins anew.
    await page.until(`/3.*0/.test(${frames}.join())`);
  });

  it("has the files for downloading and the profile", async () => {
    await page.press("Download");
    const links = await page.browser.evaluate<string[]>(
      `[...document.querySelectorAll("a[download]")].map(({ href }) => href)`,
    );
    const types = await Promise.all(links.map(async (link) => (await fetch(link)).headers.get("content-type")));
    expect(types).toEqual(["video/mp4", "image/webp", "image/gif", "application/zip", "image/png"]);
    expect(await page.faults()).toEqual([]);
    await page.key("Escape");
    const profile = await page.browser.evaluate<string>(`document.querySelector('a[href$="/profile"]').href`);
    expect(await (await fetch(profile)).text()).toMatch(/denois/i);
  });

  it("makes it again with another seed and compares the two at the same frame", async () => {
    const [first] = (await studio.json<{ data: { id: string }[] }>("v1/videos")).data;
    await page.press("Another seed");
    await page.until(`location.hash !== "#/run/${first!.id}"`);
    await page.sees("Finished");
    await page.press("Compare");
    await page.until(`document.querySelectorAll("video").length === 2`);
    await page.until(`[...document.querySelectorAll("video")].every((video) => video.readyState === 4)`);
    for (const [key, frame] of [
      ["End", 3],
      ["ArrowLeft", 2],
      ["Home", 0],
    ] as const) {
      await page.key(key);
      await page.until(`${FRAME} === ${frame} && ${shownFrame(0)} === ${frame} && ${shownFrame(1)} === ${frame}`);
    }
    expect(await page.text("table")).toMatch(/Seed/);
    expect(await page.text("table")).not.toMatch(/Steps/);
    expect(await page.faults()).toEqual([]);
  });

  it("goes on from the last frame", async () => {
    const [newest] = (await studio.json<{ data: { id: string }[] }>("v1/videos")).data;
    await page.go(`/run/${newest!.id}`);
    await page.press("Extend");
    await page.sees("last frame of an earlier run · 64×64");
    const id = await generate();
    expect((await studio.ended(id)).remixed_from_video_id).toBe(newest!.id);
  });

  it("stops a run, and says so", async () => {
    await page.sees("Finished");
    await page.press("Create");
    await generate(400);
    await page.press("Cancel");
    await page.sees("You stopped this run");
    expect(await page.faults()).toEqual([]);
  });

  it("says why a run cannot be made", async () => {
    await page.press("Change the settings");
    await page.sees("First frame");
    await page.fill("Length in frames, as a number", 4096);
    await page.fill("Width", 16384);
    await page.fill("Height", 16384);
    await page.until(
      `document.querySelector("form dl")?.innerText.includes("TiB") || document.querySelector("form p")?.innerText.length > 20`,
    );
    await page.press("Generate");
    await page.until(
      `document.querySelector('[role="alert"]').innerText !== "" || document.body.innerText.includes("This run did not work")`,
    );
    const said = `${await page.text('[role="alert"]')} ${await page.text("main")}`;
    expect(said).toMatch(/memory|pixels|frames/);
    page.browser.console.length = 0;
  });

  it("has tiny-live's window, whose game runs", async () => {
    await page.go("/live");
    await page.until(`document.querySelector("iframe")?.contentDocument?.documentElement?.dataset.frame > 2`);
  });

  it("keeps settings and history over a reload", async () => {
    await page.go("/");
    await page.until(`document.querySelectorAll('[aria-label="History"] li').length >= 4`);
    expect(await page.value("Width")).not.toBe("");
  });

  it.each(["light", "dark"] as const)("fits into 400 pixels and is accessible in every state, %s", async (theme) => {
    const { data } = await studio.json<{ data: { id: string; status: string }[] }>("v1/videos");
    const [a, b] = data.filter(({ status }) => status === "completed");
    const failed = data.find(({ status }) => status === "failed");
    await page.browser.emulate(400, theme, "reduce");
    for (const route of ["/", `/run/${a!.id}`, `/compare/${a!.id}/${b!.id}`, `/run/${failed!.id}`]) {
      await page.go(route);
      await page.until(`document.querySelectorAll('[aria-label="History"] li').length >= 4`);
      expect(await page.overflow(), route).toBe(0);
      expect(await page.faults(), route).toEqual([]);
    }
    // Whoever asks for less motion starts clips by hand.
    await page.go(`/run/${a!.id}`);
    await page.until(`${VIDEO}?.readyState === 4`);
    expect(await page.browser.evaluate(`${VIDEO}.paused`)).toBe(true);
  });

  it("is accessible in the dark", async () => {
    const { data } = await studio.json<{ data: { id: string; status: string }[] }>("v1/videos");
    const [a, b] = data.filter(({ status }) => status === "completed");
    await page.browser.emulate(1280, "dark");
    for (const route of ["/", `/run/${a!.id}`, `/compare/${a!.id}/${b!.id}`]) {
      await page.go(route);
      await page.until(`document.querySelectorAll('[aria-label="History"] li').length >= 4`);
      expect(await page.faults(), route).toEqual([]);
    }
  });
});
