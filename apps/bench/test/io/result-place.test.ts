import { join } from "node:path";
import { expect, it } from "vitest";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

it("a place where results cannot go is refused before any work", { retry: 2 }, async () => {
  const json = join(temporaryFolder(), "none", "out.json");
  for (const command of [
    ["ops", "tiny.clip", "--json", json],
    ["unet", "--json", json],
    ["measure", "-m", "no-model", "-o", json],
  ]) {
    const started = performance.now();
    const ran = await vdBench(command);
    expect(ran).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("Make it first") });
    expect(performance.now() - started).toBeLessThan(1000);
  }
});

it("a folder's name, or a folder that takes no files, is refused before any work too", async () => {
  const folder = temporaryFolder();
  const json = process.platform === "linux" ? ["/proc/out.json", folder] : [folder];
  for (const place of json)
    for (const command of [
      ["vae", "--json", place],
      ["measure", "-m", "no-model", "-o", place],
    ]) {
      const ran = await vdBench(command);
      expect(ran).toMatchObject({
        status: 1,
        stdout: "",
        stderr: expect.stringMatching(/^Error: \[--(json|output)\] /),
      });
    }
});
