import { join } from "node:path";
import { expect, test } from "vitest";
import { openDiffusionModel, openLiveModel, openTokenizer } from "../../src/index";

const OPENERS = {
  openLiveModel: (path: string) => openLiveModel(path),
  openDiffusionModel: (path: string) => openDiffusionModel(path),
  openTokenizer: (path: string) => openTokenizer(path, 77),
};

test.each(Object.entries(OPENERS))("%s says that there is nothing at a path", async (_, open) => {
  const missing = join(import.meta.dirname, "nothing here");
  await expect(open(missing)).rejects.toMatchObject({ name: "VdError", code: "io" });
  await expect(open(missing)).rejects.toThrow("got no such file");
});

test.each(Object.entries(OPENERS))("%s refuses what is no path", async (name, open) => {
  for (const odd of [null, 5, "", {}]) {
    await expect(open(odd as never)).rejects.toMatchObject({ name: "VdError", code: "attr" });
    await expect(open(odd as never)).rejects.toThrow(`[${name}]`);
  }
});
