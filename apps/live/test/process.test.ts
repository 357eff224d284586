import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

it("plays tiny-live without a page, and leaves a whole recording when Ctrl-C ends it", async () => {
  const recording = join(temporaryFolder(), "game.gif");
  const words = [await bundledProgram(here("../src/cli.ts")), "-o", "-", "--format", "rgb", "--actions", "right"];
  const child = spawn(process.execPath, [...words, "--record", recording], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const frames: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (piece: Buffer) => {
    frames.push(piece);
    bytes += piece.length;
    if (bytes >= 5 * 96 * 64 * 3) child.kill("SIGINT");
  });
  let said = "";
  child.stderr.on("data", (piece: Buffer) => {
    said += piece;
  });
  const [status] = await once(child, "exit");
  expect([status, said]).toEqual([0, expect.stringMatching(/game\.gif: \d+ frames, \d+ bytes\./)]);
  // A picture, not one colour.
  expect(new Set(Buffer.concat(frames).subarray(0, 96 * 64 * 3)).size).toBeGreaterThan(50);
  const file = readFileSync(recording);
  expect([file.subarray(0, 6).toString(), file.at(-1)]).toEqual(["GIF89a", 0x3b]);
});

it.skipIf(process.platform !== "linux").each([
  ["frames", ["-o", "-", "--frames", "5"], /^$/],
  ["a table", ["bench", "--frames", "10", "--presses", "0"], /^$/],
  [
    "frames beside a recording",
    ["-o", "-", "--frames", "5", "--record", "game.gif"],
    /^game\.gif: 1 frame, \d+ bytes\.\n$/,
  ],
])("says in a sentence that standard output takes no more, and fails: %s", async (_, argv, further) => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, [await bundledProgram(here("../src/cli.ts")), ...argv], {
    ...{ cwd: temporaryFolder(), stdio: ["ignore", full, "pipe"] },
  });
  let said = "";
  child.stderr!.on("data", (piece) => {
    said += piece;
  });
  expect(await once(child, "close")).toEqual([1, null]);
  closeSync(full);
  const sentence = /^Error: \[standard output\] expected one that takes what is written, got ENOSPC.*\n/;
  expect(said).toMatch(sentence);
  expect(said.replace(sentence, "")).toMatch(further);
});
