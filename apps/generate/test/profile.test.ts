import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProfileReport } from "@vd/profiler";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { pipelineFactory } from "../src/model/factory";
import { runCommand } from "./support/harness";

describe("--profile", () => {
  // Again where the machine gives the time between two scopes to others: what no scope covers lies outside in every run.
  it("covers a real run from the model's opening to the video's encoding", { retry: 2 }, async () => {
    const folder = temporaryFolder();
    const [output, profile] = [join(folder, "o.gif"), join(folder, "p.json")];
    const argv = [
      "-o",
      output,
      "--frames",
      "2",
      "--steps",
      "2",
      "--size",
      "32x32",
      "--threads",
      "2",
      "--profile",
      profile,
    ];
    const { status, stderr } = await runCommand(argv, {}, { pipelineFactory });
    expect([status, stderr]).toEqual([0, expect.stringContaining(`Where the time went: ${profile}`)]);
    const report = JSON.parse(readFileSync(profile, "utf8")) as ProfileReport;
    expect(report.scopes.map(({ name }) => name)).toEqual(["open model", "generate", "encode video"]);
    expect(report.scopes[1]!.children.map(({ name }) => name)).toContain("VAE decode");
    expect(report.ceilings!.gigabytesPerS).toBeGreaterThan(0);
    expect(report.outsidePercent).toBeLessThan(5);
    expect(readdirSync(folder).sort()).toEqual(["o.gif", "p.json"]);
  });

  it.each(["html", "trace", "txt"])("writes .%s too", async (ending) => {
    const folder = temporaryFolder();
    const profile = join(folder, `p.${ending}`);
    const { status } = await runCommand(["-o", join(folder, "o.gif"), "--profile", profile]);
    expect(status).toBe(0);
    expect(readFileSync(profile, "utf8")).toContain("encode video");
  });

  it("is checked before any work: the ending, the folder, and that there is a run", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "o.gif");
    const failure = async (...argv: string[]) => {
      const { status, stderr } = await runCommand(["-o", output, ...argv]);
      expect(existsSync(output)).toBe(false);
      return [status, stderr.trim()];
    };
    expect(await failure("--profile", "p.pdf")).toEqual([
      2,
      'Error: [--profile] expected a file name that ends in .html, .json, .trace, .txt, got "p.pdf". Name it, for example, profile.html.',
    ]);
    expect(await failure("--profile", "p.txt", "--dry-run")).toEqual([
      2,
      'Error: [--profile] expected a run, got "--dry-run". Leave out one of the two.',
    ]);
    expect((await failure("--profile", join(folder, "none", "p.txt")))[0]).toBe(1);
  });
});
