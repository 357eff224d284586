import { copyFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { copyOfTiny, QUICK, WEIGHT_FILES } from "../support/tiny-model";

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
