import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { COMMIT } from "../../../../tooling/testing/fake-hub";
import { type PlannedDownload, resolveModel } from "../../src/index";
import { useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";

/** Resolves the model and returns the downloads that were announced. */
async function announced(name = NAME): Promise<PlannedDownload[]> {
  const downloads: PlannedDownload[] = [];
  await resolveModel(name, bench.options({ onBeforeDownload: (download) => void downloads.push(download) }));
  return downloads;
}

it("tells licence and size once, before the first content, and nothing of a model that is there", async () => {
  bench.hub.card = { license: "other", license_name: "svd-community", license_link: "LICENSE.md" };
  let numContents = -1;
  const onBeforeDownload = () => {
    numContents = bench.hub.requests.filter(({ url }) => url.includes("/resolve/")).length;
  };
  await resolveModel(NAME, bench.options({ onBeforeDownload }));
  expect(numContents).toBe(0);
  await rm(bench.cacheDir, { recursive: true });
  const page = `${bench.hub.endpoint}/${NAME}`;
  const [download, ...more] = await announced();
  expect(more).toEqual([]);
  expect(download).toMatchObject({ repo: NAME, commit: COMMIT, page });
  expect(download!.licence).toEqual({ name: "svd-community", url: `${page}/blob/${COMMIT}/LICENSE.md` });
  expect(download!.missingBytes).toBe(download!.totalBytes);
  expect(download!.totalBytes).toBeGreaterThan(600_000);
  expect(await announced()).toEqual([]);
});

it("counts what is missing only, and asks for a commit's licence too", async () => {
  bench.hub.card = { license: ["mit"], license_link: "https://example.org/mit" };
  await announced();
  const unet = join(bench.cacheDir, "models--some-org--tiny-svd/snapshots", COMMIT, "unet");
  const blobs = join(bench.cacheDir, "models--some-org--tiny-svd/blobs");
  await rm(unet, { recursive: true });
  for (const name of await readdir(blobs)) if (name.length === 64) await rm(join(blobs, name));
  const [download] = await announced(`${NAME}@${COMMIT}`);
  expect(download!.licence).toEqual({ name: "mit", url: "https://example.org/mit" });
  expect(download!.missingBytes).toBe(600_000);
  expect(download!.totalBytes).toBeGreaterThan(600_000);
});

it("downloads nothing when the listener throws, and hands on what it throws", async () => {
  const refusal = new Error("no");
  const onBeforeDownload = () => Promise.reject(refusal);
  await expect(resolveModel(NAME, bench.options({ onBeforeDownload }))).rejects.toBe(refusal);
  expect(await readdir(bench.cacheDir)).toEqual([]);
});

it.each([
  [undefined, undefined],
  [{}, undefined],
  [{ license: 7 }, undefined],
  [{ license: "mit" }, { name: "mit", path: "" }],
  [
    { license: "mit", license_link: "../../../x" },
    { name: "mit", path: "" },
  ],
])("reads a card of %j", async (card, licence) => {
  bench.hub.card = card as Record<string, unknown> | undefined;
  const url = licence && `${bench.hub.endpoint}/${NAME}${licence.path}`;
  expect((await announced())[0]!.licence).toEqual(licence && { name: licence.name, url });
});
