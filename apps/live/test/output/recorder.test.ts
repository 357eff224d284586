import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { Recorder } from "../../src/output/recorder";
import { FakeSession } from "../support/fake-session";

const before = process.env.TMPDIR;
afterEach(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
});

// Windows does not let go of names of open files.
it.skipIf(process.platform === "win32")(
  "keeps frames in a file without a name, which ends with the process whatever ends that",
  async () => {
    const folder = temporaryFolder();
    process.env.TMPDIR = join(folder, "tmp");
    mkdirSync(process.env.TMPDIR);
    const path = join(folder, "game.gif");
    const recorder = await Recorder.open({ path, width: 96, height: 64, fps: 25 });
    const session = new FakeSession({ pace: "reader" });
    let count = 0;
    for await (const frame of session) {
      await recorder.add(frame);
      if (++count === 3) break;
    }
    // What a process that is killed now leaves: no part of the video, and no frames.
    expect(readdirSync(process.env.TMPDIR)).toEqual([]);
    expect(existsSync(path)).toBe(false);
    expect(await recorder.finish()).toMatchObject({ fileBytes: expect.any(Number) });
    await recorder.close();
    expect(existsSync(path)).toBe(true);
  },
);
