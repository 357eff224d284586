import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodePng } from "@vd/media";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import type { ModelSource } from "../src/model/source";
import type { FakeOptions } from "./support/fake-pipeline";
import { FakeProcess, runCommand } from "./support/harness";

const PNG = await encodePng({ width: 64, height: 48 }, gradientFrames(64, 48, 1));

/** A folder with pictures of some names. */
function folderOf(...names: string[]): string {
  const folder = temporaryFolder();
  for (const name of names) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), PNG);
  }
  return folder;
}

const QUICK = ["-q", "--frames", "2", "--steps", "1"];

describe("several pictures", () => {
  it("make a video each, by a model that is opened once", async () => {
    const folder = folderOf("a.png", "b.png", "c.jpg");
    const loaded: ModelSource[] = [];
    let disposed = 0;
    const told = { onLoad: (source: ModelSource) => void loaded.push(source), onDispose: () => void disposed++ };
    const fake: FakeOptions = { ...told, reconstructionSnr: 5 };
    const words = [join(folder, "*.png"), join(folder, "c.jpg"), "-o", join(folder, "{name}-moves.webp")];
    const { status, stderr } = await runCommand([...QUICK, ...words], fake);
    expect(stderr).toContain("Warning");
    expect(status).toBe(0);
    const made = readdirSync(folder).filter((name) => name.endsWith(".webp"));
    expect(made.sort()).toEqual(["a-moves.webp", "b-moves.webp", "c-moves.webp"]);
    expect([loaded.length, disposed]).toEqual([1, 1]);
  });

  it("go on behind one that fails, and the status says so", async () => {
    const folder = folderOf("a.png", "c.png");
    writeFileSync(join(folder, "b.png"), "no picture");
    const words = [join(folder, "*.png"), "-o", join(folder, "{name}.gif")];
    const { status, stderr } = await runCommand([...QUICK, ...words]);
    expect(status).toBe(1);
    expect(stderr).toContain("b.png");
    expect(readdirSync(folder).filter((name) => name.endsWith(".gif"))).toEqual(["a.gif", "c.gif"]);
  });

  it.each([
    [["a.png", "b.png", "-o", "o.gif"], "[--output] expected a name with {name} in it, for several pictures"],
    [["x/a.png", "y/a.png", "-o", "{name}.gif"], "[IMAGE] expected pictures whose videos have names of their own"],
    [["*.jpeg", "-o", "{name}.gif"], "[IMAGE] expected files that match"],
  ])("are refused before any work: %j", async (words, message) => {
    const folder = folderOf("a.png", "b.png", "x/a.png", "y/a.png");
    const loaded: ModelSource[] = [];
    const inFolder = words.map((word) => (word.startsWith("-") ? word : join(folder, word)));
    const { status, stderr } = await runCommand([...QUICK, ...inFolder], {
      onLoad: (source) => void loaded.push(source),
    });
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
    expect(loaded).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith(".gif"))).toEqual([]);
  });

  it("may be one that is called like a pattern", async () => {
    const folder = folderOf("[a].png");
    const output = join(folder, "o.gif");
    expect((await runCommand([...QUICK, join(folder, "[a].png"), "-o", output])).status).toBe(0);
    expect(existsSync(output)).toBe(true);
  });
});

describe("standard input and output", () => {
  async function* piped() {
    yield PNG.subarray(0, 50);
    yield PNG.subarray(50);
  }

  it("take the picture's bytes and give the video's, and nothing else", async () => {
    const written: Uint8Array[] = [];
    const writeBytes = async (bytes: Uint8Array) => void written.push(bytes);
    const outcome = await runCommand(["-", "-o", "-.webp", "--frames", "3"], {}, { stdin: piped, writeBytes });
    expect(outcome).toMatchObject({ status: 0, stdout: "" });
    expect(outcome.stderr).toContain("3 frames of 64x48");
    expect(outcome.stderr).toMatch(/^file +standard output \(/m);
    expect(written).toHaveLength(1);
    expect((await sharp(written[0], { animated: true }).metadata()).pages).toBe(3);
  });

  it("names the picture from standard input", async () => {
    const folder = temporaryFolder();
    await runCommand([...QUICK, "-", "-o", join(folder, "{name}.gif")], {}, { stdin: piped });
    expect(readdirSync(folder)).toEqual(["stdin.gif"]);
    async function* text() {
      yield Buffer.from("no picture");
    }
    const { status, stderr } = await runCommand([...QUICK, "-", "-o", join(folder, "b.gif")], {}, { stdin: text });
    expect(status).not.toBe(0);
    expect(stderr).toContain("standard input");
  });

  it("write nothing where the run fails, and refuse what needs a file", async () => {
    const written: Uint8Array[] = [];
    const writeBytes = async (bytes: Uint8Array) => void written.push(bytes);
    const failed = await runCommand([...QUICK, "-o", "-"], { failure: new Error("broken") }, { writeBytes });
    expect(failed).toMatchObject({ status: 1, stdout: "" });
    for (const option of ["--json", "--open", "--preview"]) {
      const { status, stderr, stdout } = await runCommand(["-o", "-.gif", option], {}, { writeBytes });
      expect(status).toBe(2);
      expect(stderr + stdout).toContain(`a file beside ${option}`);
    }
    expect((await runCommand(["-o", "-.xyz"], {}, { writeBytes })).status).toBe(2);
    const { status, stderr } = await runCommand(["-o", "-.png"], {}, { writeBytes });
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('[--output] expected a format of one file, got "-.png"'),
    ]);
    expect(written).toEqual([]);
  });
});

describe("--watch", () => {
  it("makes a video of each picture that comes, once it is complete, until it is stopped", async () => {
    const folder = folderOf("old.png");
    const output = join(folder, "{name}.mp4");
    const signals = new FakeProcess();
    let numMade = 0;
    const onGenerate = () => {
      numMade++;
    };
    const running = runCommand(
      ["--watch", folder, "-o", output, "--frames", "2", "--steps", "1", "-q"],
      { onGenerate },
      { signals },
    );
    const until = async (done: () => boolean) => {
      for (let i = 0; i < 400 && !done(); i++) await new Promise((resolve) => setTimeout(resolve, 25));
      expect(done()).toBe(true);
    };
    await new Promise((resolve) => setTimeout(resolve, 300));
    writeFileSync(join(folder, "new.png"), PNG.subarray(0, 40));
    writeFileSync(join(folder, "note.txt"), "no picture");
    writeFileSync(join(folder, "new.png"), PNG);
    await until(() => existsSync(join(folder, "new.mp4")));
    writeFileSync(join(folder, "next.png"), PNG);
    await until(() => existsSync(join(folder, "next.mp4")));
    signals.emit("SIGINT");
    expect((await running).status).toBe(130);
    expect(numMade).toBe(2);
    expect(readdirSync(folder).sort()).toEqual(["new.mp4", "new.png", "next.mp4", "next.png", "note.txt", "old.png"]);
    expect(readFileSync(join(folder, "new.mp4")).length).toBeGreaterThan(100);
  });

  it.each([
    [["-o", "{name}.gif"], "[--output] expected a place that is not watched"],
    [["-o", "one.mp4"], "[--output] expected a name with {name} in it"],
    [["cat.png"], "[--watch] expected no IMAGE beside it"],
    [["-o", "-"], "[--watch] expected files as output"],
  ])("refuses %j", async (argv, message) => {
    const folder = temporaryFolder();
    const words = argv.map((word) => (word.startsWith("{") ? join(folder, word) : word));
    const { status, stderr } = await runCommand(["--watch", folder, "-q", ...words]);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
  });

  it("says so where there is no such folder", async () => {
    const { status, stderr } = await runCommand(["--watch", "/no/such", "-o", "/tmp/{name}.mp4"]);
    expect(status).toBe(1);
    expect(stderr).toContain("[--watch]");
  });
});
