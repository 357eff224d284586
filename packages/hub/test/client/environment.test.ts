import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readHubEnvironment, readImplicitToken } from "../../src/client/environment";
import { hubSettings } from "../../src/client/settings";
import { HUB_ENVIRONMENT_VARIABLES, resolveModel } from "../../src/index";
import { useWorkbench } from "./workbench";

describe("readHubEnvironment", () => {
  it("has the defaults of the Python tools", () => {
    expect(readHubEnvironment({ HOME: "/home/me" })).toEqual({
      endpoint: "https://huggingface.co",
      cacheDir: resolve("/home/me/.cache/huggingface/hub"),
      token: undefined,
      tokenPath: resolve("/home/me/.cache/huggingface/token"),
      useImplicitToken: true,
      offline: false,
      allowSymlinks: true,
      idleTimeoutMs: 30_000,
    });
  });

  it.each([
    [{ XDG_CACHE_HOME: "/xdg" }, "/xdg/huggingface/hub", "/xdg/huggingface/token"],
    [{ XDG_CACHE_HOME: "/xdg", HF_HOME: "/hf" }, "/hf/hub", "/hf/token"],
    [{ HF_HOME: "/hf", HF_HUB_CACHE: "/models" }, "/models", "/hf/token"],
    [{ HF_HOME: "/hf", HUGGINGFACE_HUB_CACHE: "/old" }, "/old", "/hf/token"],
    [{ HF_HUB_CACHE: "/new", HUGGINGFACE_HUB_CACHE: "/old" }, "/new", "/home/me/.cache/huggingface/token"],
    [{ HF_HOME: "~/hf", HF_TOKEN_PATH: "$SECRETS/hf", SECRETS: "/s" }, "/home/me/hf/hub", "/s/hf"],
    [{ HF_HOME: `\${DATA}/hf$NO`, DATA: "/d" }, "/d/hf$NO/hub", "/d/hf$NO/token"],
    [{ HF_HOME: "", HF_HUB_CACHE: "" }, "/home/me/.cache/huggingface/hub", "/home/me/.cache/huggingface/token"],
  ])("%j", (variables, cacheDir, tokenPath) => {
    const found = readHubEnvironment({ HOME: "/home/me", ...variables } as Record<string, string>);
    expect([found.cacheDir, found.tokenPath]).toEqual([resolve(cacheDir), resolve(tokenPath)]);
  });

  it.each([
    [{ HF_HUB_OFFLINE: "1" }, true],
    [{ HF_HUB_OFFLINE: "true" }, true],
    [{ HF_HUB_OFFLINE: "Yes" }, true],
    [{ HF_HUB_OFFLINE: "0", TRANSFORMERS_OFFLINE: "1" }, false],
    [{ TRANSFORMERS_OFFLINE: "ON" }, true],
    [{ HF_HUB_OFFLINE: "" }, false],
  ])("offline by %j: %s", (variables, offline) => {
    expect(readHubEnvironment(variables as Record<string, string>).offline).toBe(offline);
  });

  it("reads endpoint, symlinks and timeout", () => {
    const variables = { HF_ENDPOINT: "https://mirror/x/", HF_HUB_DISABLE_SYMLINKS: "1", HF_HUB_DOWNLOAD_TIMEOUT: "7" };
    expect(readHubEnvironment(variables)).toMatchObject({
      endpoint: "https://mirror/x",
      allowSymlinks: false,
      idleTimeoutMs: 7_000,
    });
    expect(readHubEnvironment({ HF_HUB_DOWNLOAD_TIMEOUT: "soon" }).idleTimeoutMs).toBe(30_000);
  });

  it("reads no variable that is not in the list", () => {
    const asked = new Set<string>();
    const spy = new Proxy({} as Record<string, string>, {
      get(_, name) {
        asked.add(String(name));
        return undefined;
      },
    });
    readHubEnvironment(spy);
    const system = ["HOME", "USERPROFILE"];
    expect([...asked].filter((name) => !system.includes(name)).sort()).toEqual(
      Object.keys(HUB_ENVIRONMENT_VARIABLES).sort(),
    );
  });
});

describe("token", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "vd-token-"));
    await writeFile(join(dir, "token"), " from-file\r\n");
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));
  const token = (variables: Record<string, string>) =>
    readImplicitToken(readHubEnvironment({ HF_HOME: dir, ...variables }));

  it("comes from the environment, else from the file, else there is none", async () => {
    expect(await token({ HF_TOKEN: " from-variable\n" })).toBe("from-variable");
    expect(await token({ HUGGING_FACE_HUB_TOKEN: "older" })).toBe("older");
    expect(await token({ HF_TOKEN: "" })).toBe("from-file");
    expect(await token({ HF_TOKEN_PATH: join(dir, "none") })).toBeUndefined();
    expect(await token({ HF_TOKEN: "x", HF_HUB_DISABLE_IMPLICIT_TOKEN: "1" })).toBeUndefined();
  });

  it("may be given or refused by the caller", async () => {
    const environment = { HF_HOME: dir };
    expect((await hubSettings({ environment })).token).toBe("from-file");
    expect((await hubSettings({ environment, token: "mine" })).token).toBe("mine");
    expect((await hubSettings({ environment, token: false })).token).toBeUndefined();
  });
});

describe("together", () => {
  const bench = useWorkbench();

  it("a download by environment alone goes to HF_ENDPOINT with HF_TOKEN into HF_HOME", async () => {
    const environment = { HF_ENDPOINT: `${bench.hub.endpoint}/`, HF_TOKEN: "mine", HF_HOME: bench.cacheDir };
    const { dir } = await resolveModel("some-org/tiny-svd", { environment });
    expect(dir.startsWith(join(bench.cacheDir, "hub", "models--some-org--tiny-svd"))).toBe(true);
    expect(bench.hub.requests[0]?.authorization).toBe("Bearer mine");
  });
});
