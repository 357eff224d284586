import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HeldLock, tryLock } from "@vd/hub";
import { encodePng } from "@vd/media";
import type { GenerateOptions } from "@vd/svd-pipeline";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { FakeProcess, runCommand } from "./support/harness";

describe("a run with --resume", () => {
  const states: (string | undefined)[] = [];
  const onGenerate = ({ resume, keepState }: GenerateOptions) => states.push(`${resume} ${keepState}`);

  it("keeps its state beside the output, or in a folder", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "o.gif");
    await runCommand(["-o", output, "--resume", "-q"], { onGenerate });
    await runCommand(["-o", join(folder, "frames/"), `--resume=${folder}/mine`, "-q"], { onGenerate });
    await runCommand(["-o", join(folder, "p.gif"), "-q"], { onGenerate });
    expect(states).toEqual([`${output}.resume true`, `${folder}/mine true`, "undefined undefined"]);
  });

  it("says that a finished output is finished, and makes it anew without the option", async () => {
    const output = join(temporaryFolder(), "o.gif");
    let runs = 0;
    const fake = { onGenerate: () => runs++ };
    await runCommand(["-o", output, "--resume", "--no-overwrite"], fake);
    const again = await runCommand(["-o", output, "--resume", "--no-overwrite"], fake);
    expect([again.status, again.stdout, runs]).toEqual([
      ...[0, `${output} is finished. Without --resume it is made anew.\n`, 1],
    ]);
    const json = await runCommand(["-o", output, "--resume", "--json"], fake);
    expect(json.events()).toEqual([{ event: "finished", output, path: output }]);
    await runCommand(["-o", output], fake);
    expect(runs).toBe(2);
  });

  it("goes on where a state is left, also if an output is there", async () => {
    const output = join(temporaryFolder(), "o.gif");
    writeFileSync(output, "old");
    mkdirSync(`${output}.resume`);
    writeFileSync(join(`${output}.resume`, "state.json"), "{}");
    const { status } = await runCommand(["-o", output, "--resume", "-q"]);
    expect(status).toBe(0);
    expect(readFileSync(output).subarray(0, 3).toString()).toBe("GIF");
    expect(readdirSync(join(output, ".."))).toEqual(["o.gif"]);
  });

  it("has made the video where somebody else works on the state by then", async () => {
    const output = join(temporaryFolder(), "o.gif");
    mkdirSync(`${output}.resume`);
    const options = { pollMs: 100, staleMs: 10_000, signal: undefined };
    const lock = (await tryLock(join(`${output}.resume`, "lock"), options)) as HeldLock;
    const { status, stderr } = await runCommand(["-o", output, "--resume"]);
    await lock.release();
    expect([status, existsSync(output)]).toEqual([0, true]);
    expect(stderr).toContain("Warning: the state was not removed: [resume] expected a state that nobody works on");
  });

  it("says on Ctrl-C that the same command goes on", async () => {
    const output = join(temporaryFolder(), "o.gif");
    const signals = new FakeProcess();
    const fake = { stepMs: 20, onGenerate: () => setTimeout(() => signals.emit("SIGINT"), 5) };
    const { status, stderr } = await runCommand(["-o", output, "--resume"], fake, { signals });
    expect(status).toBe(130);
    expect(stderr).toContain("Stopped; no video was written; the same command goes on from here.");
  });

  it("keeps a state for each of several pictures in a folder of its own", async () => {
    const folder = temporaryFolder();
    const given: unknown[] = [];
    const fake = { onGenerate: ({ resume }: GenerateOptions) => given.push(resume) };
    const png = await encodePng({ width: 64, height: 48 }, gradientFrames(64, 48, 1));
    for (const name of ["a.png", "b.png"]) writeFileSync(join(folder, name), png);
    const words = [join(folder, "*.png"), "-o", join(folder, "{name}.gif"), `--resume=${folder}/states`, "-q"];
    await runCommand(words, fake);
    expect(given).toEqual([join(folder, "states/a"), join(folder, "states/b")]);
  });

  it("is refused beside standard output, where no state could be found again, unless a folder is named", async () => {
    const writeBytes = async () => {};
    const refused = await runCommand(["-o", "-", "--resume"], {}, { writeBytes });
    expect([refused.status, refused.stderr]).toEqual([
      ...[2, expect.stringContaining("expected a file beside --resume without a folder")],
    ]);
    const state = join(temporaryFolder(), "state");
    expect((await runCommand(["-o", "-.gif", `--resume=${state}`, "-q"], {}, { writeBytes })).status).toBe(0);
  });
});
