import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { findCachedModel, listCachedModels, removeCachedModel, resolveModel } from "../../src/index";
import { useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";

it("lists models with their size on the disk, whole ones and others", async () => {
  await resolveModel(NAME, bench.options());
  const other = join(bench.cacheDir, "models--zoo--big--one/blobs");
  await mkdir(other, { recursive: true });
  await writeFile(join(other, "0123.incomplete"), Buffer.alloc(1000));
  await mkdir(join(bench.cacheDir, "datasets--a--b"));
  await writeFile(join(bench.cacheDir, "models--a--file"), "");
  const models = await listCachedModels(bench.options());
  const rows = models.map(({ repo, isComplete }) => [repo, isComplete]);
  expect(rows).toEqual([
    [NAME, true],
    ["zoo/big--one", false],
  ]);
  const [whole, part] = models;
  expect(whole!.bytes).toBeGreaterThan(600_000);
  expect(whole!.bytes).toBeLessThan(602_000);
  expect(part!.bytes).toBe(1000);
  expect(Math.abs(Date.now() - whole!.changedAt.getTime())).toBeLessThan(60_000);
});

it("counts each content once where the cache has no symbolic links", async () => {
  await resolveModel(NAME, bench.options());
  const linked = (await findCachedModel(NAME, bench.options())).bytes;
  await rm(bench.cacheDir, { recursive: true });
  const environment = { HOME: bench.cacheDir, HF_HUB_DISABLE_SYMLINKS: "1" };
  await resolveModel(NAME, bench.options({ environment }));
  expect((await findCachedModel(`hf:${NAME}`, bench.options())).bytes).toBe(linked);
});

it("has none without a cache", async () => {
  expect(await listCachedModels({ cacheDir: join(bench.cacheDir, "none"), environment: {} })).toEqual([]);
});

it("deletes a model with all that belongs to it, and nothing else", async () => {
  await resolveModel(NAME, bench.options());
  await mkdir(join(bench.cacheDir, "models--some-org--tiny-svd-2"));
  expect((await removeCachedModel(NAME, bench.options())).repo).toBe(NAME);
  expect((await readdir(bench.cacheDir)).sort()).toEqual([".locks", "CACHEDIR.TAG", "models--some-org--tiny-svd-2"]);
  expect(await readdir(join(bench.cacheDir, ".locks"))).toEqual([]);
});

it("says of a model that it is not there, and of a text that it names none", async () => {
  const options = bench.options();
  expect((await failureOf(removeCachedModel(NAME, options))).message).toContain("a model of the cache");
  for (const name of ["../..", "a", `${NAME}@main`]) {
    expect((await failureOf(removeCachedModel(name, options))).code).toBe("attr");
  }
});
