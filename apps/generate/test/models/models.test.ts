import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeHub } from "../../../../tooling/testing/fake-hub";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { FakeProcess, runCommand } from "../support/harness";

const NAME = "some-org/tiny-svd";

let hub: FakeHub;
let cache: string;
beforeEach(async () => {
  hub = await FakeHub.start();
  hub.card = { license: "mit", license_link: "LICENSE" };
  cache = temporaryFolder();
  for (const name of ["HF_TOKEN", "HF_HUB_OFFLINE", "HUGGING_FACE_HUB_TOKEN"]) vi.stubEnv(name, undefined);
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  vi.stubEnv("HF_HUB_CACHE", cache);
  vi.stubEnv("HF_HOME", cache);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub.stop();
});

const contents = () => hub.requests.filter(({ url }) => url.includes("/resolve/"));

describe("models pull", () => {
  it("shows licence and size, asks at a terminal, and downloads nothing after a no", async () => {
    const confirm = vi.fn(async () => false);
    const { status, stdout, stderr } = await runCommand(["models", "pull", NAME], {}, { confirm });
    expect({ status, stdout }).toEqual({ status: 130, stdout: "" });
    expect(stderr).toMatch(
      /^some-org\/tiny-svd: a download of 58\d KiB\n {2}licence mit: http:.*\/blob\/.*\/LICENSE\n/,
    );
    expect(stderr).toMatch(/Stopped; nothing was changed\.\n$/);
    expect(confirm).toHaveBeenCalledTimes(1);
    expect(contents()).toEqual([]);
    expect(readdirSync(cache)).toEqual([]);
  });

  it.each([
    ["a yes", [NAME], async () => true],
    ["--yes", [NAME, "--yes"], undefined],
    ["nobody to ask", [`hf:${NAME}`], undefined],
  ])("downloads with %s and says where it is", async (_, argv, confirm) => {
    const refusing = vi.fn(async () => false);
    const isYes = argv.includes("--yes");
    const pulled = await runCommand(["models", "pull", ...argv], {}, { confirm: isYes ? refusing : confirm });
    expect(pulled.status, pulled.stderr).toBe(0);
    expect(pulled.stdout).toMatch(/tiny-svd is ready: .*snapshots/);
    expect(pulled.stderr).toContain("licence mit");
    expect(refusing).not.toHaveBeenCalled();
    const again = await runCommand(["models", "pull", NAME], {}, { confirm: refusing });
    expect(again.stdout).toContain("was there already");
    expect(refusing).not.toHaveBeenCalled();
  });

  it("takes the files for a device, and tells events as JSON", async () => {
    const { events, stderr } = await runCommand(["models", "pull", NAME, "--device", "cuda", "--json"]);
    expect(stderr).toBe("");
    const [first] = events();
    expect(first).toMatchObject({ event: "download", repo: NAME, licence: { name: "mit" } });
    expect(events().at(-1)).toMatchObject({ event: "done", hasDownloaded: true });
    expect(contents().some(({ url }) => url.endsWith("unet/diffusion_pytorch_model.fp16.safetensors"))).toBe(true);
    expect(contents().some(({ url }) => url.endsWith("unet/diffusion_pytorch_model.safetensors"))).toBe(false);
  });

  it("stops at a signal while it asks", async () => {
    const signals = new FakeProcess();
    const confirm = (_: string, signal: AbortSignal) =>
      new Promise<boolean>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        signals.emit("SIGINT");
      });
    expect(await runCommand(["models", "pull", NAME], {}, { confirm, signals })).toMatchObject({ status: 130 });
    expect(signals.eventNames()).toEqual([]);
  });
});

describe("models list and rm", () => {
  it("lists what can be run, and with --all everything", async () => {
    expect((await runCommand(["models", "list"])).stdout).toMatch(/^tiny-svd \(bundled\) {2}[\d.]+ MiB {2}ready\n$/);
    await runCommand(["models", "pull", NAME, "-y", "-q"]);
    mkdirSync(join(cache, "models--zoo--other/blobs"), { recursive: true });
    writeFileSync(join(cache, "models--zoo--other/blobs/x"), Buffer.alloc(2048));
    const lines = (await runCommand(["models", "list"])).stdout.split("\n");
    expect(lines[1]).toMatch(/^some-org\/tiny-svd {3} +58\d KiB {2}ready$/);
    expect(lines.at(-2)).toMatch(/^1 more in the cache.*--all/);
    const all = await runCommand(["models", "list", "--all", "--json"]);
    expect(all.events()).toMatchObject([
      { event: "model", repo: NAME, isComplete: true },
      { event: "model", repo: "zoo/other", isComplete: false, bytes: 2048 },
    ]);
  });

  it("deletes after a yes only", async () => {
    await runCommand(["models", "pull", NAME, "-y", "-q"]);
    const dir = join(cache, "models--some-org--tiny-svd");
    const asked: string[] = [];
    const no = async (question: string) => {
      asked.push(question);
      return false;
    };
    expect((await runCommand(["models", "rm", NAME], {}, { confirm: no })).status).toBe(130);
    expect(asked[0]).toMatch(/^Delete some-org\/tiny-svd, 58\d KiB, from .*\?$/);
    expect(existsSync(dir)).toBe(true);
    const gone = await runCommand(["models", "rm", NAME, "--yes"], {}, { confirm: no });
    expect(gone.stdout).toMatch(/^some-org\/tiny-svd is deleted; 58\d KiB are free again\.\n$/);
    expect(existsSync(dir)).toBe(false);
    const missing = await runCommand(["models", "rm", NAME]);
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining("expected a model of the cache") });
  });

  it.each([
    [["models", "lst"], "[vd-generate models] expected one of list, pull, rm"],
    [["models", "rm"], "[MODEL] expected a word, got none"],
    [["models", "list", "--al"], "Did you mean --all?"],
    [["models", "list", "x"], "[arguments] expected options only, got 1: x"],
    [["models", "pull", "a", "b"], "[MODEL] expected one, got 2: a b"],
  ])("%j is wrong usage", async (argv, words) => {
    expect(await runCommand(argv)).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(words) });
  });

  it("shows its commands, and each its options", async () => {
    expect((await runCommand(["models"])).stdout).toMatch(/Usage: vd-generate models <COMMAND>\n/);
    expect((await runCommand(["models", "pull", "--help"])).stdout).toMatch(
      /^Usage: vd-generate models pull \[options\] <MODEL>\n/,
    );
  });
});
