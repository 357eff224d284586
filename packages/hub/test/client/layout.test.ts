import { lstat, mkdir, readdir, readFile, readlink, realpath, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { COMMIT, digestOf, NEXT_COMMIT } from "../../../../tooling/testing/fake-hub";
import { resolveModel } from "../../src/index";
import { expectSame, useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";
const WANTED_FP32 = [
  "feature_extractor/preprocessor_config.json",
  "image_encoder/config.json",
  "image_encoder/model.safetensors",
  "model_index.json",
  "scheduler/scheduler_config.json",
  "unet/config.json",
  "unet/diffusion_pytorch_model.safetensors",
  "vae/config.json",
  "vae/diffusion_pytorch_model.safetensors",
];

async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(dir.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

describe("cache layout", () => {
  it("is the one of the Python tools: blobs by checksum, refs, snapshots of relative links", async () => {
    const { dir, commit } = await resolveModel(NAME, bench.options());
    const repo = join(bench.cacheDir, "models--some-org--tiny-svd");
    expect(commit).toBe(COMMIT);
    expect(dir).toBe(join(repo, "snapshots", COMMIT));
    expect(await readFile(join(repo, "refs", "main"), "utf8")).toBe(COMMIT);
    expect((await readdir(repo)).sort()).toEqual(["blobs", "refs", "snapshots"]);
    expect(await filesBelow(dir)).toEqual(WANTED_FP32);
    const digests = WANTED_FP32.map((name) => digestOf(bench.hub.files.get(name)!));
    expect((await readdir(join(repo, "blobs"))).sort()).toEqual([...digests].sort());
    for (const [i, name] of WANTED_FP32.entries()) {
      const up = "../".repeat(name.split("/").length + 1);
      expect(await readlink(join(dir, name))).toBe(`${up}blobs/${digests[i]}`);
      expectSame(await readFile(join(dir, name)), bench.hub.files.get(name)!.content);
    }
    expect(await readFile(join(bench.cacheDir, "CACHEDIR.TAG"), "utf8")).toMatch(
      /^Signature: 8a477f597d28d172789f06886806bc55\n/,
    );
    expect(await readdir(join(bench.cacheDir, ".locks", "models--some-org--tiny-svd"))).toEqual([]);
  });

  it("takes the fp16 files where asked for, and those of both formats side by side", async () => {
    const { dir } = await resolveModel(NAME, bench.options({ dtype: "fp16" }));
    const wanted = WANTED_FP32.map((name) => name.replace(/\.safetensors$/, ".fp16.safetensors"));
    expect(await filesBelow(dir)).toEqual(wanted.sort());
    await resolveModel(NAME, bench.options());
    expect(await filesBelow(dir)).toEqual([...new Set([...wanted, ...WANTED_FP32])].sort());
  });

  it("uses a cache that Python has filled, without asking for contents again", async () => {
    const repo = join(bench.cacheDir, "models--some-org--tiny-svd");
    for (const name of WANTED_FP32) {
      const path = join(repo, "snapshots", COMMIT, name);
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, bench.hub.files.get(name)!.content);
    }
    await mkdir(join(repo, "refs"), { recursive: true });
    await writeFile(join(repo, "refs", "main"), COMMIT);
    await resolveModel(NAME, bench.options());
    expect(bench.hub.requests.map(({ url }) => url.split("?")[0])).toEqual([`/api/models/${NAME}/revision/main`]);
  });

  it("needs no request at all for a full commit that is in the cache", async () => {
    const first = await resolveModel(`${NAME}@${COMMIT}`, bench.options());
    const numRequests = bench.hub.requests.length;
    expect(await resolveModel(`${NAME}@${COMMIT}`, bench.options())).toEqual(first);
    expect(bench.hub.requests.length).toBe(numRequests);
    await expect(stat(join(bench.cacheDir, "models--some-org--tiny-svd", "refs"))).rejects.toThrow();
  });

  it("shares blobs between commits and moves the branch on", async () => {
    await resolveModel(NAME, bench.options());
    bench.hub.refs.set("main", NEXT_COMMIT);
    bench.hub.files.set("unet/config.json", { content: Buffer.from("{}") });
    const { dir, commit } = await resolveModel(NAME, bench.options());
    expect(commit).toBe(NEXT_COMMIT);
    expect(await readFile(join(dir, "unet/config.json"), "utf8")).toBe("{}");
    expect(bench.hub.contentRequests("unet/diffusion_pytorch_model.safetensors")).toHaveLength(1);
    const repo = join(bench.cacheDir, "models--some-org--tiny-svd");
    expect(await readFile(join(repo, "refs", "main"), "utf8")).toBe(NEXT_COMMIT);
    expect((await readdir(join(repo, "snapshots"))).sort()).toEqual([COMMIT, NEXT_COMMIT].sort());
  });

  it("keeps branch names with slashes as folders of refs", async () => {
    bench.hub.refs.set("refs/pr/1", NEXT_COMMIT);
    const { commit } = await resolveModel(`${NAME}@refs/pr/1`, bench.options());
    expect(commit).toBe(NEXT_COMMIT);
    const ref = join(bench.cacheDir, "models--some-org--tiny-svd/refs/refs/pr/1");
    expect(await readFile(ref, "utf8")).toBe(NEXT_COMMIT);
  });

  it("keeps real files in the snapshot where symbolic links are not wanted", async () => {
    const environment = { HOME: bench.cacheDir, HF_HUB_DISABLE_SYMLINKS: "1" };
    const { dir } = await resolveModel(NAME, bench.options({ environment }));
    for (const name of WANTED_FP32) {
      expect((await lstat(join(dir, name))).isSymbolicLink()).toBe(false);
      expectSame(await readFile(join(dir, name)), bench.hub.files.get(name)!.content);
    }
  });

  it("replaces a blob of the wrong size", async () => {
    const { dir } = await resolveModel(NAME, bench.options());
    const name = "vae/diffusion_pytorch_model.safetensors";
    const file = bench.hub.files.get(name)!;
    await writeFile(join(bench.cacheDir, "models--some-org--tiny-svd/blobs", digestOf(file)), "short");
    bench.hub.refs.set("main", NEXT_COMMIT);
    const next = await resolveModel(NAME, bench.options());
    expectSame(await readFile(join(next.dir, name)), file.content);
    expectSame(await readFile(join(dir, name)), file.content);
  });

  it("fetches a blob again that somebody has deleted", async () => {
    const { dir } = await resolveModel(NAME, bench.options());
    const name = "vae/diffusion_pytorch_model.safetensors";
    await rm(await realpath(join(dir, name)));
    await resolveModel(NAME, bench.options());
    expectSame(await readFile(join(dir, name)), bench.hub.files.get(name)!.content);
  });
});

describe("names", () => {
  it("returns an existing folder or file as it is", async () => {
    const path = join(bench.cacheDir, "model.safetensors");
    await writeFile(path, "x");
    expect(await resolveModel(bench.cacheDir, bench.options())).toEqual({ dir: bench.cacheDir });
    expect(await resolveModel(path, bench.options())).toEqual({ dir: resolve(path) });
    expect(bench.hub.requests).toEqual([]);
  });

  it.each([
    "no-such-folder",
    "./no/such",
    "/no/such/folder",
    "a/b/c",
    "a--b/c",
    "../x",
    "org/name@../../x",
    "",
    "o/n.git",
  ])("says both possibilities for %j", async (source) => {
    const error = await failureOf(resolveModel(source, bench.options()));
    expect(error.code).toBe("attr");
    expect(error.message).toMatch(/a folder or file that exists, or a Hub model as org\/name/);
    expect(bench.hub.requests).toEqual([]);
  });

  it("refuses two different revisions and a revision that is a path", async () => {
    expect((await failureOf(resolveModel(`${NAME}@a`, bench.options({ revision: "b" })))).message).toMatch(
      /one revision/,
    );
    expect((await failureOf(resolveModel(NAME, bench.options({ revision: "../../x" })))).code).toBe("attr");
  });
});
