import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { BenchFile } from "../../src/measure/report";
import { TINY_SVD, vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const STAND_IN = fileURLToPath(new URL("../support/stand_in_peer.py", import.meta.url));
const SMALL = [
  "--device",
  "cpu",
  "--threads",
  "2",
  "--frames",
  "2",
  "--size",
  "32x32",
  "--rounds",
  "2",
  "--repeats",
  "1",
];

async function measureVae(extra: readonly string[]) {
  const json = join(temporaryFolder(), "vae.json");
  const ran = await vdBench(["vae", "-m", TINY_SVD, "--json", json, ...SMALL, ...extra]);
  const { rows } = existsSync(json) ? (JSON.parse(readFileSync(json, "utf8")) as BenchFile) : { rows: [] };
  return {
    ...ran,
    rows: rows.map(({ suite, contender, medianUs, reason }) => ({ suite, contender, medianUs, reason })),
  };
}

it("one case and one contender can be measured, others are not", async () => {
  const { status, rows, stderr } = await measureVae([
    ...["--alone", "--cases", "vae-switches", "--contenders", "ours-optimised", "--peers", "none", "--no-reference"],
  ]);
  expect(status, stderr).toBe(0);
  expect(rows).toEqual([{ suite: "vae-switches", contender: "ours-optimised", medianUs: expect.any(Number) }]);
});

it("contenders alone give the rows that turns give, each in its own time", async () => {
  const options = ["--cases", "encode,encode-switches", "--peers", "eager", "--peer-script", STAND_IN];
  const [turns, alone] = [await measureVae(options), await measureVae(["--alone", ...options])];
  const names = (rows: typeof turns.rows) => rows.map(({ suite, contender }) => `${suite} ${contender}`).sort();
  expect(names(alone.rows)).toEqual(names(turns.rows));
  expect(alone.rows.filter(({ medianUs }) => medianUs !== undefined).length).toBeGreaterThanOrEqual(4);
});

it("a contender that takes longer than the limit is given up, and the others are measured", async () => {
  const { status, rows, stderr } = await measureVae([
    ...["--alone", "--limit", "1", "--cases", "vae", "--frames", "25", "--size", "256x256"],
    ...["--peers", "none", "--no-reference"],
  ]);
  expect(status, stderr).toBe(0);
  expect(rows).toEqual([{ suite: "vae", contender: "ours", reason: "more than 1 s, loading included" }]);
});

it("contenders of which none is there are refused, with those that are", async () => {
  const { status, stderr } = await measureVae([
    ...["--alone", "--cases", "encode-switches", "--contenders", "ours-optimized", "--peers", "none", "--no-reference"],
  ]);
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/\[contenders\] expected some of ours-plain, ours-optimised.*got ours-optimized/);
  // Also beside a peer that is not there, whose row says why.
  const beside = await measureVae([
    ...[
      "--cases",
      "encode",
      "--contenders",
      "our",
      "--peers",
      "eager",
      "--no-reference",
      "--python",
      "/no/such/python",
    ],
  ]);
  expect(beside.status).not.toBe(0);
  expect(beside.stderr).toMatch(/\[contenders\] expected some of ours.*got our/);
});

it("cases of the causal autoencoder without one, and one that is not there, are refused before any work", async () => {
  const none = await measureVae(["--cases", "causal-encode-switches", "--peers", "none"]);
  expect(none).toMatchObject({
    status: 2,
    rows: [],
    stderr: expect.stringMatching(/^Error: \[--cases\] expected --causal-model/),
  });
  const gone = await measureVae(["--causal-model", "/no/such/model", "--peers", "none"]);
  expect(gone.status).not.toBe(0);
  expect(gone.stderr).toMatch(/^Error: \[--causal-model\] expected a file or folder that exists, or random/);
});
