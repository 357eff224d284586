import { copyFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readmeText } from "../../src/report/readme";
import { repeatText, repeatTexts } from "../../src/report/repeat";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const README = join(ROOT, "README.md");

describe("the README's tables", () => {
  it("and the benchmark pages are what their command makes of the committed results", async () => {
    const text = readFileSync(README, "utf8");
    const command = /`npx -y pnpm@[\d.]+ bench (report [^`]+)`/.exec(text)?.[1];
    expect(command, "README.md tells the command").toBeDefined();
    const words = command!.split(" ").map((word) => (word.endsWith(".json") ? join(ROOT, word) : word));
    const folder = temporaryFolder();
    const copy = join(folder, "README.md");
    copyFileSync(README, copy);
    const histories = ["gpu/history.json", "cpu/history.json"];
    const reports = join(folder, "reports");
    for (const name of histories) cpSync(join(ROOT, "reports", name), join(reports, name));
    const args = [...words.slice(0, words.indexOf("--readme")), "--readme", copy, "-o", folder, "--histories", reports];
    const ran = await vdBench(args);
    expect(ran.status, ran.stderr).toBe(0);
    for (const page of ran.stdout.trim().split("\n"))
      expect(readFileSync(page, "utf8"), `${page} is fresh`).toBe(
        readFileSync(join(ROOT, "docs/benchmarks", basename(page)), "utf8"),
      );
    // Paths are told as seen from the page.
    const made = readFileSync(copy, "utf8").replaceAll(/[^ `]*\/(reports\/[^ `]+\.json)/g, "$1");
    expect(made).toBe(text);
    for (const name of histories)
      expect(readFileSync(join(reports, name), "utf8"), `reports/${name} has every committed report`).toBe(
        readFileSync(join(ROOT, "reports", name), "utf8"),
      );
    expect(text, "hashes have eight digits").not.toMatch(/\b[0-9a-f]{12,}\b/);
  });

  it("have a column for each contender, the faster of ours, and reasons", () => {
    const merged = benchFile([
      { ...unetRow("ours", 300_000, 1), peakBytes: 5 * 2 ** 30, error: 1e-3 },
      { ...unetRow("ours-graph", 299_000, 1), peakBytes: 2 * 2 ** 30, error: 1e-3 },
      { ...unetRow("diffusers", 598_000, 1), error: 0 },
      { suite: "unet", name: "2x25", contender: "diffusers-compile", reason: "no compiler" },
      { ...unetRow("ours", 2_500_000, 1), suite: "e2e", samplesUs: [2_500_000] },
      { ...unetRow("ours", 5, 1), suite: "ops" },
    ]);
    const text = readmeText([{ merged, files: [merged], paths: ["a.json"] }]);
    expect(text).toContain("|  | samples | ours | diffusers | diffusers + torch.compile |");
    expect(text).toContain(
      "| One denoiser call on both guidance rows: 2x25 | 7 | 299 ms ± 0.0 %, 5.00 GiB | 598 ms ± 0.0 %, 2.00× | (no compiler) |",
    );
    expect(text).toContain("| Picture file to frames in host memory: 2x25 | 1 | 2.50 s (1 sample) |  |  |");
    expect(text).not.toContain("Ops");
    expect(text).toContain("From `a.json`");
    expect(text.indexOf("Picture file")).toBeLessThan(text.indexOf("One denoiser"));
  });

  it("leave out a device of which only ops were timed, but not its file", () => {
    const merged = benchFile([{ ...unetRow("ours", 5, 1), suite: "ops" }]);
    const text = readmeText([{ merged, files: [merged], paths: ["ops.json"] }]);
    expect(text).not.toContain("|");
    expect(text).toContain("report ops.json --readme");
  });
});

describe("the command that repeats results", () => {
  const file = (command: string, options: Record<string, unknown>, names: readonly string[] = ["x"]) => ({
    ...benchFile(names.map((name) => ({ ...unetRow("ours", 1, 0), suite: command, name }))),
    ...{ command, options },
  });
  const sizes = { numFrames: 25, width: 1024, height: 576, steps: 25 };

  it("types what differs from what happens anyway", () => {
    expect(repeatText(file("ops", { pattern: "conv", rounds: 3, repeats: 3, limitS: 1 }))).toBe(
      "npx -y pnpm@10.34.9 bench ops conv --device cuda --rounds 3 --limit 1 --json ops.json",
    );
    expect(repeatText(file("unet", { ...sizes, model: "tiny-svd", peers: ["eager"], e2eRounds: 1 }))).toBe(
      "npx -y pnpm@10.34.9 bench unet --device cuda --frames 25 --size 1024x576 --peers eager --json unet.json",
    );
    expect(repeatText(file("measure", { ...sizes, model: "svd-xt", parts: ["unet"], peers: [] }))).toBe(
      "npx -y pnpm@10.34.9 bench measure --device cuda -m svd-xt --frames 25 --size 1024x576 --steps 25 --parts unet --peers none -o measure.json",
    );
  });

  it("leaves out sizes where the command runs several by itself", () => {
    const options = { ...sizes, model: "svd-xt", peers: ["eager"], e2eRounds: 5 };
    expect(repeatText(file("e2e", options, ["14 frames", "25 frames"]))).toBe(
      "npx -y pnpm@10.34.9 bench e2e --device cuda -m svd-xt --peers eager --e2e-rounds 5 --json e2e.json",
    );
  });

  it("has three whole runs where the results had fewer", () => {
    const options = { ...sizes, model: "svd-xt", peers: ["eager"], e2eRounds: 1 };
    expect(repeatText(file("e2e", options, ["14 frames", "25 frames"]))).toBe(
      "npx -y pnpm@10.34.9 bench e2e --device cuda -m svd-xt --peers eager --json e2e.json",
    );
  });

  it("is two where measured results were joined with whole runs of another length", () => {
    const options = { ...sizes, model: "svd-xt", peers: ["eager"], rounds: 3, e2eRounds: 3 };
    const results = file("measure", options);
    const [short, long] = ["14 frames", "25 frames"].map((name) => ({ ...unetRow("ours", 1, 0), suite: "e2e", name }));
    expect(repeatTexts({ ...results, rows: [long!] })).toHaveLength(1);
    expect(repeatTexts({ ...results, rows: [short!, long!] })).toEqual([
      "npx -y pnpm@10.34.9 bench measure --device cuda -m svd-xt --frames 25 --size 1024x576 --steps 25 --peers eager --rounds 3 -o measure.json",
      "npx -y pnpm@10.34.9 bench e2e --device cuda -m svd-xt --peers eager --json e2e.json",
    ]);
  });

  it("gives a README without marks back untouched", async () => {
    const folder = temporaryFolder();
    const [results, readme] = [join(folder, "a.json"), join(folder, "README.md")];
    writeFileSync(results, JSON.stringify(benchFile([unetRow("ours", 1, 0)])));
    writeFileSync(readme, "<!-- benchmarks: end -->\n<!-- benchmarks: begin -->");
    const ran = await vdBench(["report", results, "-o", folder, "--readme", readme]);
    expect(ran).toMatchObject({ status: 1, stderr: expect.stringContaining("Put both lines") });
    expect(readFileSync(readme, "utf8")).toMatch(/^<!-- benchmarks: end/);
  });
});
