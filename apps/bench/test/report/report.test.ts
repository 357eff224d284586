import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryChart } from "../../src/report/charts";
import { mergeFiles, slugOf } from "../../src/report/write-report";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const FILE = {
  ...benchFile([
    { ...unetRow("ours", 300_000, 500), peakBytes: 5 * 2 ** 30, flops: 1.5e14, error: 1e-3 },
    { ...unetRow("diffusers", 629_000, 800), peakBytes: 10 * 2 ** 30 },
    { suite: "unet", name: "2x25", contender: "diffusers-compile", reason: "no <compiler> | here" },
    { ...unetRow("ours", 10, 1), suite: "ops", name: "attention.a", flops: 1e9, bytes: 1e6 },
    { ...unetRow("pytorch", 15, 1), suite: "ops", name: "attention.a" },
  ]),
  rates: { copyGbPerS: 4000, matrixTflopPerS: 700 },
  tables: {
    unet: [
      {
        ...{ op: "conv", shape: "f16[1]", variant: "m128", count: 3, totalUs: 1000, gflop: 400, gigabytes: 1 },
        ...{ tflopPerS: 400, gbPerS: 1000 },
      },
    ],
  },
};

async function report(files: readonly object[], extra: readonly string[] = []) {
  const folder = temporaryFolder();
  const paths = files.map((_, i) => join(folder, `${i}.json`));
  files.forEach((file, i) => {
    writeFileSync(paths[i]!, JSON.stringify(file));
  });
  const out = join(folder, "pages");
  const ran = await vdBench(["report", ...paths, "-o", out, ...extra]);
  const read = (name: string) => readFileSync(join(out, name), "utf8");
  return { ...ran, out, read };
}

describe("vd-bench report", () => {
  it.runIf(process.platform === "linux")("says of a folder that cannot be made that it cannot", async () => {
    const path = join(temporaryFolder(), "a.json");
    writeFileSync(path, JSON.stringify(FILE));
    const ran = await vdBench(["report", path, "-o", "/proc/x/y"]);
    expect(ran).toMatchObject({ status: 1, stdout: "" });
    expect(ran.stderr).toContain(
      "[--output] expected a folder that can be made, got no such file or folder (/proc/x/y)",
    );
  });

  it("draws every chart in both widths, on a page that needs nothing from outside", async () => {
    const { status, stderr, read, out } = await report([FILE]);
    expect(status, stderr).toBe(0);
    expect(readdirSync(out).sort()).toEqual(["test-gpu-charts.html", "test-gpu.md"]);
    const html = read("test-gpu-charts.html");
    for (const title of ["One denoiser call", "Peak memory", "Ops beside PyTorch", "Roofline"])
      expect(html).toContain(`<h2>${title}`);
    for (const width of ["narrow", "wide"]) expect(html.split(`<div class="${width}"`)).toHaveLength(5);
    expect(html).toContain("prefers-color-scheme: dark");
    expect(html).not.toMatch(/(?:src|href)="(?!data:)/);
    expect(html).not.toMatch(/<script|@import|NaN|undefined/);
    expect(html).toContain("300 ± 0.5");
  });

  it("draws a bar of memory for every case: two whole runs of one contender are not one bar", () => {
    const runs = [14, 25].map((frames) => ({
      ...{ ...unetRow("ours", 1e6, 1), suite: "e2e", name: `${frames} frames` },
      peakBytes: (frames === 14 ? 14.6 : 15) * 2 ** 30,
    }));
    const { figure } = memoryChart(runs)!;
    const [wide] = figure.split('class="narrow"');
    const bars = [...wide!.matchAll(/<rect [^>]*\bx="([\d.]+)"[^>]*\by="([\d.]+)"/g)];
    expect(bars).toHaveLength(2);
    expect(bars[0]![1], "both start at the axis").toBe(bars[1]![1]);
    expect(bars[0]![2], "in rows of their own").not.toBe(bars[1]![2]);
    for (const text of ["e2e 14 frames ours", "e2e 25 frames ours", ">14.6<", ">15.0<"]) expect(wide).toContain(text);
  });

  it("begins with how much faster than the peers a whole run is", async () => {
    const e2e = (contender: string, us: number) => ({
      ...{ ...unetRow(contender, us, 1), suite: "e2e", name: "25 frames" },
    });
    const { read } = await report([benchFile([e2e("ours", 8.1e6), e2e("diffusers", 18.4e6)])]);
    const said = "2.3× diffusers – 25 frames, picture file to frames in 8.10 s";
    expect(read("test-gpu-charts.html")).toContain(`<p class="headline">${said}</p>`);
    expect(read("test-gpu.md")).toContain(`**${said}.**`);
  });

  it("shows the ten best and the ten worst ops before all of them", async () => {
    const rows = Array.from({ length: 30 }, (_, i) => [
      { ...unetRow("ours", 100, 1), suite: "ops", name: `conv.${i}` },
      { ...unetRow("pytorch", 10 * (i + 1), 1), suite: "ops", name: `conv.${i}` },
    ]);
    const { read } = await report([benchFile(rows.flat())]);
    const page = read("test-gpu.md");
    expect(page).toMatch(/## The 10 best ops beside PyTorch\n\n.*\n.*\n\| conv\.29 \| 3\.00× \|/);
    expect(page).toMatch(/## The 10 worst ops beside PyTorch\n\n.*\n.*\n\| conv\.0 \| 0\.10× \|/);
    expect(page.indexOf("10 worst")).toBeLessThan(page.indexOf("## All ops"));
    expect(read("test-gpu-charts.html")).toContain("<summary>Ops beside PyTorch: all 30</summary>");
  });

  it("names an op once among the ten, by the faster of the peer's ways, and none as best and worst", async () => {
    const rows = [1, 2, 3].flatMap((i) => [
      { ...unetRow("ours", 100, 1), suite: "ops", name: `conv.${i}` },
      { ...unetRow("pytorch", 100 * i, 1), suite: "ops", name: `conv.${i}` },
      { ...unetRow("pytorch-graph", 90 * i, 1), suite: "ops", name: `conv.${i}` },
    ]);
    const { read } = await report([benchFile(rows)]);
    const [, ends] = /(## The 2 best ops[\s\S]*)## All ops/.exec(read("test-gpu.md"))!;
    expect(ends!.match(/conv\.\d[^|]*\| \d\.\d\d/g)).toEqual([
      ...["conv.3, graph | 2.70", "conv.2, graph | 1.80"],
      "conv.1, graph | 0.90",
    ]);
    expect(ends).toContain("## The 1 worst op beside PyTorch");
  });

  it("groups what has no figure by its reason, without Python's name for it", async () => {
    const rows = ["a", "b", "c", "d", "e"].flatMap((name) => [
      { ...unetRow("ours", 100, 1), suite: "ops", name: `copy.${name}` },
      ...["pytorch", "pytorch-graph"].map((contender) => ({
        ...{ suite: "ops", name: `copy.${name}`, contender },
        reason: "NotImplementedError: PyTorch has no counterpart of copy here",
      })),
    ]);
    const page = (await report([benchFile(rows)])).read("test-gpu.md");
    expect(page).toContain(
      "\n- pytorch, pytorch-graph: PyTorch has no counterpart of copy here (copy.a; copy.b; copy.c; 2 more)\n",
    );
    expect(page).not.toContain("NotImplementedError");
  });

  it("writes tables that say who, how fast, and how to repeat it", async () => {
    const { read } = await report([FILE]);
    const page = read("test-gpu.md");
    expect(page).toContain("| unet, 2x25 | diffusers | 629 ± 0.8000 | 7 | 2.10× |");
    expect(page, "a reason stands below the table, whose columns stay narrow").toContain(
      "Without a figure:\n\n- diffusers-compile: no &lt;compiler> | here (unet, 2x25)\n",
    );
    expect(page).not.toContain("| diffusers-compile |");
    expect(page).toContain("| conv | `f16[1]` | 3 | 1.00 | 100.0 % | 400 | 1.00e+3 |");
    expect(page).toContain("npx -y pnpm@10.34.9 bench unet --device cuda --json unet.json");
    expect(page).toContain("torch 2.11.0");
    expect(page).not.toContain("cuda null");
  });

  it("marks medians of fewer than three samples, on the pages and in what it says", async () => {
    const once = { ...unetRow("ours", 300_000, 0), samplesUs: [300_000] };
    const twice = { ...unetRow("diffusers", 600_000, 10), samplesUs: [599_990, 600_010] };
    const { status, stderr, read } = await report([benchFile([once, twice])]);
    expect(status).toBe(0);
    expect(read("test-gpu.md")).toContain("| unet, 2x25 | ours | 300 (1 sample) | 1 |");
    expect(read("test-gpu.md")).toContain("| unet, 2x25 | diffusers | 600 (2 samples) | 2 |");
    expect(read("test-gpu-charts.html")).toContain("300 (1 sample)");
    expect(stderr).toMatch(/0\.json: unet 2x25 ours has 1 sample, three are needed/);
  });

  it("shows hashes with eight digits", async () => {
    const hash = "0123456789abcdef0123456789abcdef01234567";
    const file = { ...FILE, notes: [`Kernels ${hash}.`] };
    const machine = { ...FILE.machine, commit: `${hash} with changes, kernels ${hash}` };
    const { read } = await report([{ ...file, machine }]);
    expect(read("test-gpu.md")).toContain("commit 01234567 with changes, kernels 01234567,");
    expect(read("test-gpu.md") + read("test-gpu-charts.html")).not.toContain(hash.slice(0, 9));
  });

  it("joins files of one device, the last row counting, and keeps devices apart", async () => {
    const merged = mergeFiles([FILE, benchFile([unetRow("ours", 200_000, 1)])]);
    expect(merged.rows).toHaveLength(5);
    expect(merged.rows[0]!.medianUs).toBe(200_000);
    expect(merged.rates).toEqual(FILE.rates);
    const { out } = await report([FILE, benchFile([unetRow("ours", 1, 0)], "Other (TM) CPU @ 2.0")]);
    expect(readdirSync(out)).toHaveLength(4);
    expect(slugOf("Other (TM) CPU @ 2.0")).toBe("other-tm-cpu-2-0");
  });

  it("says which rows are of which commit, where they are of several", () => {
    const later = benchFile([{ ...unetRow("ours", 1, 0), suite: "ops" }]);
    later.machine.commit = "later";
    const { commit } = FILE.machine;
    expect(mergeFiles([FILE, FILE]).machine.commit).toBe(commit);
    expect(mergeFiles([FILE, later]).machine.commit).toBe(`${commit} (unet, ops) and later (ops)`);
  });

  it("puts tables between the marks of a README and nowhere else", async () => {
    const readme = join(temporaryFolder(), "README.md");
    const marks = ["<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"];
    writeFileSync(readme, `before\n${marks[0]}\nold\n${marks[1]}\nafter\n`);
    expect((await report([FILE], ["--readme", readme])).status).toBe(0);
    const text = readFileSync(readme, "utf8");
    expect(text.startsWith(`before\n${marks[0]}\n`)).toBe(true);
    expect(text.endsWith(`${marks[1]}\nafter\n`)).toBe(true);
    expect(text).toContain(
      "| One denoiser call on both guidance rows: 2x25 | 7 | 300 ms ± 0.2 %, 5.00 GiB | 629 ms ± 0.1 %, 2.10×, 10.0 GiB |",
    );
    expect(text).not.toContain("old");
    writeFileSync(readme, "no marks");
    const refused = await report([FILE], ["--readme", readme]);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("benchmarks: begin") });
    expect(readFileSync(readme, "utf8")).toBe("no marks");
  });
});
