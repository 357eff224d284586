import { expect, test } from "vitest";
import { joinResults, type MeasureResults } from "../../../gpu/programs/join-results";

const run = (suite: string, peers: string[]): MeasureResults => ({
  options: { parts: [suite], peers, rounds: 3 },
  rows: [
    { suite, contender: "ours" },
    { suite, contender: "peer" },
  ],
  tables: { [suite]: [1] },
  notes: ["warm"],
  machine: { device: suite },
});

test("rows come in the order of a generation, with every table and the first run's machine", () => {
  const joined = joinResults([run("unet", ["eager", "compile"]), run("e2e", ["eager"]), run("clip", [])]);
  expect(joined.rows.map(({ suite }) => suite)).toEqual(["clip", "clip", "unet", "unet", "e2e", "e2e"]);
  expect(joined.options).toEqual({ parts: ["clip", "unet", "e2e"], peers: ["eager", "compile"], rounds: 3 });
  expect(joined.tables).toEqual({ unet: [1], e2e: [1], clip: [1] });
  expect(joined.notes).toEqual(["warm", "3 commands right after each other on one machine."]);
  expect(joined.machine).toEqual({ device: "unet" });
});

test("a contender that runs again beside another peer keeps its first row", () => {
  const again = run("e2e", ["compile"]);
  again.rows = [
    { suite: "e2e", contender: "ours", medianUs: 9 },
    { suite: "e2e", contender: "compiled", medianUs: 12 },
  ];
  const { rows } = joinResults([run("e2e", ["eager"]), again]);
  expect(rows.map(({ contender, medianUs }) => [contender, medianUs])).toEqual([
    ["ours", undefined],
    ["peer", undefined],
    ["compiled", 12],
  ]);
});

test("nothing to join is an error", () => {
  expect(() => joinResults([])).toThrow(/expected results to join/);
});
