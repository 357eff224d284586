/** Makes docs/assets/live/page.webp: vd-live's page in Chromium while tiny-live is played. No part of `pnpm gen`, since it needs Chromium, and times in the
 *  picture are those of the machine: let nothing else run beside it.
 *
 *  npx -y pnpm@10.34.9 exec tsx tooling/generate/pictures/live-page.ts [FILE.webp] */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { loadSharp } from "@vd/media";
import { Browser, chromium } from "../../testing/browser";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const file = process.argv[2] ?? `${ROOT}docs/assets/live/page.webp`;
const WIDTH = 900;
/** As long as the graph has place for frames, and a jump near its end. */
const PLAYED_MS = 6_500;
const IN_THE_AIR_MS = 350;
const WEBP = { quality: 82, effort: 6 } as const;

if (chromium === undefined) throw new Error("No Chromium on this machine: install chromium, or google-chrome.");

/** The address that vd-live prints. */
async function addressOf(live: ReturnType<typeof spawn>): Promise<string> {
  let said = "";
  for await (const piece of live.stderr!) {
    said += piece;
    const found = / at (http:\S+)/.exec(said)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`vd-live ended: ${said}`);
}

const words = ["tooling/app.mjs", "live", "--no-open", "--port", "0"];
const live = spawn(process.execPath, words, { cwd: ROOT, stdio: ["ignore", "inherit", "pipe"] });
const ended = once(live, "exit");
try {
  const browser = await Browser.start();
  try {
    await browser.emulate(WIDTH, "light");
    await browser.open(await addressOf(live));
    await browser.until(`document.documentElement.dataset.frame > 2`);
    await browser.until(`[...document.querySelectorAll("#starts img")].every(({ complete }) => complete)`);
    // A window as high as the page, so that there is no scroll bar in the picture.
    const height = await browser.evaluate<number>(
      `Math.ceil(document.querySelector("main").getBoundingClientRect().bottom)`,
    );
    const window = { width: WIDTH, height, deviceScaleFactor: 1, mobile: false };
    await browser.call("Emulation.setDeviceMetricsOverride", window);
    await browser.key("keyDown", "ArrowRight");
    await setTimeout(PLAYED_MS);
    await browser.key("keyDown", "Space");
    await setTimeout(IN_THE_AIR_MS);
    const picture = await browser.screenshot();
    const sharp = await loadSharp();
    await sharp(picture).webp(WEBP).toFile(file);
    const fps = await browser.evaluate<string>(`document.getElementById("fps").textContent`);
    console.log(`${file}, at ${fps} frames a second`);
  } finally {
    await browser.close();
  }
} finally {
  live.kill("SIGINT");
  await ended;
}
