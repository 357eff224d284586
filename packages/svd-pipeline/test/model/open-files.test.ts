import { appendFileSync, copyFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkUnchanged, recordFiles } from "@vd/hub";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { copyOfTiny, QUICK, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";

describe("checkUnchanged", () => {
  const fileOf = (name = "weights") => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, "1234567890");
    return { path, files: recordFiles([path]) };
  };

  it("lets pass files that are as they were, gone, or replaced", () => {
    const { path, files } = fileOf();
    checkUnchanged(files);
    writeFileSync(`${path}.new`, "other");
    renameSync(`${path}.new`, path);
    checkUnchanged(files);
    rmSync(path);
    checkUnchanged(files);
    expect(recordFiles([path])).toEqual([]);
  });

  it("refuses files that were cut off, written to or touched, with their names", async () => {
    for (const [change, got] of [
      [(path: string) => truncateSync(path, 3), "3 bytes"],
      [(path: string) => appendFileSync(path, "x"), "11 bytes"],
      [(path: string) => utimesSync(path, 1e9, 1e9), "newer contents"],
    ] as const) {
      const { path, files } = fileOf();
      change(path);
      const error = await failureOf(() => checkUnchanged(files));
      expect([error.code, error.where, error.got]).toEqual(["io", path, got]);
      expect(error.hint).toContain("open the model again");
    }
  });
});

// Windows lets nobody replace, delete or cut off a mapped file.
describe.skipIf(process.platform === "win32")("a model whose files change while it is open", () => {
  it("goes on where they were replaced or deleted", async () => {
    const folder = copyOfTiny();
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(folder);
    const wanted = (await pipeline.generate(QUICK)).data;
    const path = join(folder, WEIGHT_FILES.vae);
    copyFileSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
    rmSync(join(folder, "unet"), { recursive: true });
    expect(sameBytes((await pipeline.generate(QUICK)).data, wanted)).toBe(true);
  });

  it("is an error, not the end of the process, where one was cut off between two stages", async () => {
    const folder = copyOfTiny();
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(folder);
    const onProgress = ({ stage }: { stage: string }) => {
      if (stage === "denoise") truncateSync(join(folder, WEIGHT_FILES.vae), 5000);
    };
    const error = await failureOf(pipeline.generate({ ...QUICK, onProgress }));
    expect(error.code).toBe("io");
    expect(error.message).toContain("got 5000 bytes. The file was written to while the model was open");
    expect((await failureOf(pipeline.generate(QUICK))).code).toBe("io");
  });
});
