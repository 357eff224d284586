import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder";

const PAGE = fileURLToPath(new URL("../../../../docs/benchmarks/amd-epyc-charts.html", import.meta.url));
const browser = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

describe.skipIf(!browser)("the benchmark page in a browser (needs Chromium)", () => {
  it.each([
    [1280, "light"],
    [400, "dark"],
  ])("is not empty at %i pixels, %s, and its console is", (width, theme) => {
    const folder = temporaryFolder();
    const picture = join(folder, "page.png");
    const dark = theme === "dark" ? ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] : [];
    const result = spawnSync(
      browser!,
      [
        ...[
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--enable-logging=stderr",
          `--window-size=${width},1500`,
        ],
        ...[...dark, `--user-data-dir=${join(folder, "user")}`, `--screenshot=${picture}`, pathToFileURL(PAGE).href],
      ],
      { encoding: "utf8", timeout: 50_000 },
    );
    expect(result.stderr.split("\n").filter((line) => /CONSOLE/.test(line))).toEqual([]);
    // An empty page of this size is a picture of 5 to 8 kB.
    expect(readFileSync(picture).length).toBeGreaterThan(25_000);
  });
});
