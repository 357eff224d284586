import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { bytes, digestOf } from "../../../../tooling/testing/fake-hub";
import { bundledProgram } from "../../../../tooling/testing/program";
import { resolveModel } from "../../src/index";
import { expectSame, useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";
const UNET = "unet/diffusion_pytorch_model.safetensors";
const root = fileURLToPath(new URL("../../../../", import.meta.url));
const child = await bundledProgram(fileURLToPath(new URL("./download-child.ts", import.meta.url)));

/** Downloads in a process of its own; what it prints is the folder. */
function downloadElsewhere(): Promise<string> {
  return new Promise((resolve, reject) => {
    const process_ = spawn(process.execPath, [child, NAME], {
      cwd: root,
      env: {
        ...process.env,
        HF_ENDPOINT: bench.hub.endpoint,
        HF_HOME: bench.cacheDir,
      },
    });
    let output = "";
    process_.stdout.on("data", (text) => (output += text));
    process_.stderr.on("data", (text) => (output += text));
    process_.on("close", (code) => (code === 0 ? resolve(output.trim()) : reject(new Error(output))));
  });
}

async function expectWhole(dir: string): Promise<void> {
  expectSame(await readFile(join(dir, UNET)), bench.hub.files.get(UNET)?.content);
}

it("fetches each file once when one process asks twice at the same time", async () => {
  bench.hub.files.set(UNET, { content: bytes(2_000_000, 31), lfs: true });
  const results = await Promise.all([1, 2, 3].map(() => resolveModel(NAME, bench.options())));
  for (const { dir } of results) await expectWhole(dir);
  const contents = bench.hub.requests.filter(({ url, origin }) => origin === "cdn" || url.endsWith(".json"));
  const names = contents.map(({ url }) => url.split("/").slice(-2).join("/"));
  expect(names.length).toBe(new Set(names).size);
});

it("fetches each file once when several processes ask at the same time", async () => {
  bench.hub.files.set(UNET, { content: bytes(2_000_000, 31), lfs: true });
  // No content is sent before both processes have asked for the list, so that they do meet.
  let numLists = 0;
  bench.hub.intercept = async ({ url }) => {
    if (url.includes("/tree/")) numLists++;
    for (let wait = 0; url.includes("/resolve/") && numLists < 2 && wait < 500; wait++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return false;
  };
  const [first, second] = await Promise.all([downloadElsewhere(), downloadElsewhere()]);
  expect(numLists).toBe(2);
  expect(first).toBe(second);
  await expectWhole(first);
  expect(bench.hub.contentRequests(UNET)).toHaveLength(1);
  const repo = join(bench.cacheDir, "hub", "models--some-org--tiny-svd");
  expect((await readdir(join(repo, "blobs"))).filter((name) => !/^[0-9a-f]+$/.test(name))).toEqual([]);
  expect(await readdir(join(bench.cacheDir, "hub", ".locks", "models--some-org--tiny-svd"))).toEqual([]);
});

it("goes on where a killed process stopped, past the lock it left", async () => {
  const unet = bench.hub.files.get(UNET)!;
  const repo = join(bench.cacheDir, "models--some-org--tiny-svd");
  const locks = join(bench.cacheDir, ".locks", "models--some-org--tiny-svd");
  await mkdir(join(repo, "blobs"), { recursive: true });
  await mkdir(locks, { recursive: true });
  await writeFile(join(repo, "blobs", `${digestOf(unet)}.incomplete`), unet.content.subarray(0, 90_000));
  const lock = { id: "gone", pid: 2 ** 22 + 1, host: hostname() };
  await writeFile(join(locks, `${digestOf(unet)}.lock.json`), JSON.stringify(lock));
  const { dir } = await resolveModel(NAME, bench.options({ tuning: { lockStaleMs: 60_000 } }));
  await expectWhole(dir);
  expect(bench.hub.contentRequests(UNET).map(({ range }) => range)).toEqual(["bytes=90000-"]);
});
