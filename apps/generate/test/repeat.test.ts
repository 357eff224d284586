import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodePng, readComment } from "@vd/media";
import type { GenerateOptions } from "@vd/svd-pipeline";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { runCommand } from "./support/harness";

/** Runs a command line; gives its outcome and what was generated with, but for callbacks and pixels. */
async function run(argv: string[]) {
  let made: Record<string, unknown> = {};
  const onGenerate = ({ image: _, signal: __, onProgress: ___, onWarning: ____, ...options }: GenerateOptions) => {
    made = options;
  };
  return { ...(await runCommand(["-q", ...argv], { onGenerate })), made: () => made };
}

async function pictureAt(path: string, shift = 0): Promise<string> {
  const data = gradientFrames(64, 48, 1).map((value) => (value + shift) % 256);
  writeFileSync(path, await encodePng({ width: 64, height: 48 }, data));
  return path;
}

const SETTINGS = [
  "--frames",
  "4",
  "--steps",
  "3",
  "--guidance",
  "1:2",
  "--size",
  "64x48",
  "--sampler",
  "heun",
  "--loop",
];

describe("--repeat", () => {
  it.each(["webp", "gif", "mp4", "webm", "%d.png"])(
    "makes a .%s again: the same settings, the same bytes",
    async (ending) => {
      const folder = temporaryFolder();
      const picture = await pictureAt(join(folder, "pictüre.png"));
      const [first, second] = [join(folder, `a.${ending}`), join(folder, `b.${ending}`)];
      const one = await run([picture, "-o", first, ...SETTINGS]);
      expect(one.status).toBe(0);
      const place = (path: string) => path.replace("%d", "0");
      const two = await run(["--repeat", place(first), "-o", second]);
      expect(two.status).toBe(0);
      expect(two.made()).toEqual(one.made());
      expect(typeof two.made().seed).toBe("bigint");
      expect(readFileSync(place(second)).equals(readFileSync(place(first)))).toBe(true);
    },
  );

  it("lets what is typed win", async () => {
    const output = join(temporaryFolder(), "a.webp");
    await run(["-o", output, "--seed", "5", "--frames", "3"]);
    expect((await run(["--repeat", output, "-o", output, "--seed", "6"])).made()).toMatchObject({
      seed: 6n,
      numFrames: 3,
    });
    expect((await run(["--repeat", output, "-o", output, "--duration", "1s"])).made()).toMatchObject({ numFrames: 7 });
  });

  it("refuses another picture under the same name, but not one that is named", async () => {
    const folder = temporaryFolder();
    const [picture, output] = [await pictureAt(join(folder, "p.png")), join(folder, "a.webp")];
    await run([picture, "-o", output]);
    copyFileSync(output, join(folder, "kept.webp"));
    const other = await pictureAt(join(folder, "other.png"), 9);
    expect((await run(["--repeat", output, other, "-o", join(folder, "b.webp")])).status).toBe(0);
    await pictureAt(picture, 9);
    const { status, stderr } = await run(["--repeat", join(folder, "kept.webp"), "-o", join(folder, "c.webp")]);
    expect(status).toBe(1 + 0);
    expect(stderr).toContain(
      "[--repeat] expected the pictures that kept.webp was made of, got others under the same names",
    );
  });

  it("says what is wrong with a file that has no settings", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "a.webp");
    await run(["-o", output, "--no-metadata"]);
    expect(await readComment(output)).toBeUndefined();
    for (const [path, got] of [
      [output, "a.webp: no settings in it"],
      [join(folder, "missing.mp4"), "no such file"],
      [folder, "--repeat"],
    ] as const) {
      const { status, stderr } = await run(["--repeat", path, "-o", join(folder, "b.webp")]);
      expect(status).not.toBe(0);
      expect(stderr).toContain(got);
    }
    for (const comment of [
      "{}",
      "no json",
      '{"settings":{"frames":3},"pictures":5}',
      '{"settings":{"framse":3},"pictures":"0"}',
    ]) {
      const bad = join(folder, "bad.png");
      writeFileSync(bad, await encodePng({ width: 8, height: 8 }, new Uint8Array(192), { comment }));
      expect((await run(["--repeat", bad, "-o", join(folder, "b.webp")])).status).not.toBe(0);
    }
  });
});
