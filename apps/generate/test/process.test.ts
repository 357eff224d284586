import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";

const PROGRAM = await bundledProgram(fileURLToPath(new URL("support/fake-cli.ts", import.meta.url)));

/** Starts the command as a process of its own, with the fake pipeline. */
function start(stepMs: number, ...argv: string[]) {
  const child = spawn(process.execPath, [PROGRAM, String(stepMs), ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const closed = once(child, "close") as Promise<[number | null, string | null]>;
  return { child, output, closed };
}

/** Waits until the process has said something. */
async function said(child: ChildProcess, output: { stderr: string }, words: string): Promise<void> {
  while (!output.stderr.includes(words)) await once(child.stderr!, "data");
}

// Windows has no signals to send: there, kill() ends the process at once.
describe.skipIf(process.platform === "win32")("the process", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("ends with 130 on %s and leaves no file", async (signal) => {
    const folder = temporaryFolder();
    const { child, output, closed } = start(100, "-o", join(folder, "o.mp4"), "--steps", "500");
    await said(child, output, "denoise  1/500");
    child.kill(signal);
    expect(await closed).toEqual([130, null]);
    expect(output.stderr).toContain("Stopped; no video was written.");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("ends at once on the second Ctrl-C, in the middle of a long step", async () => {
    const folder = temporaryFolder();
    const { child, output, closed } = start(30_000, "-o", join(folder, "o.mp4"));
    await said(child, output, "Seed");
    child.kill("SIGINT");
    await said(child, output, "Stopping after this step");
    child.kill("SIGINT");
    expect(await closed).toEqual([130, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("leaves the old file whole when it is killed while writing", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "o.mp4");
    writeFileSync(output, "old");
    const run = start(0, "-o", output, "--size", "256x256", "--frames", "400");
    await said(run.child, run.output, "write");
    run.child.kill("SIGKILL");
    expect(await run.closed).toEqual([null, "SIGKILL"]);
    expect(readFileSync(output, "utf8")).toBe("old");
  });

  it.skipIf(process.platform !== "linux").each([
    ["the video", ["-o", "-.gif", "-q"]],
    ["lines", ["-o", "o.gif", "--json"]],
  ])("says in a sentence that standard output takes no more, and fails: %s", async (_, argv) => {
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, [PROGRAM, "0", ...argv], {
      ...{ cwd: temporaryFolder(), stdio: ["ignore", full, "pipe"] },
    });
    let said = "";
    child.stderr!.on("data", (chunk) => {
      said += chunk;
    });
    expect(await once(child, "close")).toEqual([1, null]);
    closeSync(full);
    expect(said).toMatch(/^Error: \[standard output\] expected one that takes what is written, got ENOSPC.*\n$/m);
    expect(said).not.toContain("    at ");
  });

  it("is content when its reader goes away", async () => {
    const folder = temporaryFolder();
    const { child, closed } = start(5, "--json", "-o", join(folder, "o.gif"), "--steps", "50");
    await once(child.stdout!, "data");
    child.stdout!.destroy();
    expect(await closed).toEqual([0, null]);
    expect(readdirSync(folder)).toEqual(["o.gif"]);
  });
});
