import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Device } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProfiler } from "../../src/index";

const browser = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);
const folder = mkdtempSync(join(tmpdir(), "vd-profile-page-"));
const page = join(folder, "profile.html");

beforeAll(async () => {
  const profiler = createProfiler({ ceilings: { bytesPerUs: 1000, flopsPerUs: { f32: 2000 }, source: "given" } });
  const layout = layoutGraph((g) => {
    const weight = g.constant(new Float32Array(32 * 32).fill(0.5), [32, 32]);
    g.output("y", g.linear({ name: "a.0.b", x: g.input("x", [1, 1, 64, 32]), weight }));
  });
  const plan = await Plan.load(Device.cpu({ threads: 1 }), layout, { observer: profiler });
  await plan.run();
  plan.freeSync();
  await profiler.write(page);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Looks at the page from a file, without a network, and comes back with a picture and what the console said. */
function look(width: number) {
  const picture = join(folder, `${width}.png`);
  const result = spawnSync(
    browser!,
    [
      ...["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", `--window-size=${width},1500`],
      ...[`--user-data-dir=${join(folder, "user")}`, `--screenshot=${picture}`, pathToFileURL(page).href],
    ],
    { encoding: "utf8", timeout: 50_000 },
  );
  return {
    bytes: readFileSync(picture).length,
    console: result.stderr.split("\n").filter((line) => /CONSOLE/.test(line)),
  };
}

describe.skipIf(!browser)("the page in a browser (needs Chromium)", () => {
  it.each([1280, 400])("is not empty at %i pixels, and its console is", (width) => {
    const { bytes, console } = look(width);
    expect(console).toEqual([]);
    // An empty page of this size is a picture of 5 to 8 kB.
    expect(bytes).toBeGreaterThan(25_000);
  });
});
