import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { bytes, COMMIT, NEXT_COMMIT } from "../../../../tooling/testing/fake-hub";
import { requestedWaitMs } from "../../src/client/failures";
import { hubSettings } from "../../src/client/settings";
import { downloadSnapshot } from "../../src/client/snapshot";
import { resolveModel } from "../../src/index";
import { expectSame, useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";
const UNET = "unet/diffusion_pytorch_model.safetensors";

function answer(part: string, status: number, headers: Record<string, string> = {}, times = Number.POSITIVE_INFINITY) {
  let count = 0;
  bench.hub.intercept = ({ url }, response) => {
    if (!url.includes(part) || count >= times) return false;
    count++;
    response.writeHead(status, headers).end();
    return true;
  };
}

describe("refusals", () => {
  it.each([401, 403])("says for a gated model (%d) where the licence is and how to set a token", async (status) => {
    answer("/resolve/", status, { "X-Error-Code": "GatedRepo" });
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.code).toBe("io");
    expect(error.got).toBe(`status ${status} (the model is gated)`);
    expect(error.hint).toContain(`Accept the licence at ${bench.hub.endpoint}/${NAME}`);
    expect(error.hint).toContain("set HF_TOKEN");
  });

  it("says so too if the server gives no reason, and that the name may be wrong", async () => {
    answer("/api/", 401);
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.hint).toMatch(/Accept the licence at .*set HF_TOKEN.*the name is wrong/);
  });

  it("blames the token if one was sent", async () => {
    answer("/resolve/", 403, { "X-Error-Code": "GatedRepo" });
    const error = await failureOf(resolveModel(NAME, bench.options({ token: "old" })));
    expect(error.expected).toBe("a token that may read this model");
    expect(error.hint).toMatch(/check that the token in HF_TOKEN is valid/);
    expect(JSON.stringify(error)).not.toContain('"old"');
  });

  it("does not speak of licences when another origin refuses", async () => {
    answer("/bucket/", 403);
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.message).toMatch(/status 403/);
    expect(error.message).not.toMatch(/licence/);
  });

  it("names a repository, a revision and a file that are not there", async () => {
    expect((await failureOf(resolveModel("some-org/other", bench.options()))).message).toMatch(
      /^\[some-org\/other\] expected the name of a model on the Hub, got status 404/,
    );
    expect((await failureOf(resolveModel(`${NAME}@v9`, bench.options()))).message).toMatch(
      /^\[some-org\/tiny-svd@v9\] expected a branch, tag or commit of this model, got status 404: there is no "v9"/,
    );
  });

  it("names a file that is listed but not there", async () => {
    answer("/resolve/", 404, { "X-Error-Code": "EntryNotFound" });
    expect((await failureOf(resolveModel(NAME, bench.options()))).message).toMatch(
      /tiny-svd\/.*\.json\] expected a file of revision .*no such file/,
    );
    answer("/bucket/unet", 404);
    expect((await failureOf(resolveModel(NAME, bench.options()))).where).toBe(`${NAME}/${UNET}`);
  });

  it("explains a repository that holds no SVD folders, with and without a single-file checkpoint", async () => {
    bench.hub.files.delete(UNET);
    bench.hub.files.delete("unet/diffusion_pytorch_model.fp16.safetensors");
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.code).toBe("weights");
    expect(error.got).toBe(`a repository without ${UNET}`);
    expect(error.hint).toMatch(/svd_xt.safetensors is a single-file checkpoint/);
    bench.hub.files.delete("svd_xt.safetensors");
    expect((await failureOf(resolveModel(NAME, bench.options()))).hint).toMatch(/never loaded.*convert it once/);
    for (const name of bench.hub.files.keys()) if (name.endsWith(".bin")) bench.hub.files.delete(name);
    expect((await failureOf(resolveModel(NAME, bench.options()))).hint).toMatch(/diffusers layout/);
  });

  it("says that an address is not a Hub", async () => {
    bench.hub.intercept = (_, response) => {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<html>login</html>");
      return true;
    };
    expect((await failureOf(resolveModel(NAME, bench.options()))).hint).toMatch(/HF_ENDPOINT is the address of a Hub/);
    const error = await failureOf(resolveModel(NAME, bench.options({ endpoint: "huggingface.co" })));
    expect(error.message).toMatch(/https:\/\/ or http:\/\//);
  });
});

describe("retry", () => {
  it.each([500, 502, 503, 504, 408, 429])("tries again after status %d", async (status) => {
    answer("/bucket/unet", status, {}, 2);
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readFile(join(dir, UNET)), bench.hub.files.get(UNET)!.content);
    expect(bench.hub.contentRequests(UNET)).toHaveLength(3);
  });

  it("tries the list and the commit again too", async () => {
    answer("/api/", 503, {}, 3);
    await resolveModel(NAME, bench.options());
    expect(bench.hub.requests.filter(({ url }) => url.startsWith("/api/"))).toHaveLength(5);
  });

  it("waits as long as Retry-After says", async () => {
    answer("/bucket/unet", 429, { "Retry-After": "0.3" }, 1);
    const startMs = performance.now();
    await resolveModel(NAME, bench.options());
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(290);
  });

  it("does not wait for hours", async () => {
    answer("/bucket/unet", 429, { "Retry-After": "7200" });
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.got).toMatch(/status 429 with the request to wait 7200 s/);
    expect(bench.hub.contentRequests(UNET)).toHaveLength(1);
  });

  it("gives up after the last attempt and keeps what came", async () => {
    answer("/bucket/unet", 500);
    const error = await failureOf(resolveModel(NAME, bench.options({ tuning: { maxAttempts: 3 } })));
    expect(error.code).toBe("io");
    expect(error.message).toMatch(/an answer from http:\/\/127.0.0.1:\d+, got status 500/);
    expect(bench.hub.contentRequests(UNET)).toHaveLength(3);
  });

  it("notices a server that falls silent", async () => {
    let silent = 0;
    bench.hub.intercept = ({ url }, response) => {
      if (!url.includes("/bucket/unet") || silent++ > 0) return false;
      response.writeHead(200, { "Content-Length": 200_000 });
      response.write(bytes(1000, 4));
      return true;
    };
    const { dir } = await resolveModel(NAME, bench.options({ tuning: { idleTimeoutMs: 150 } }));
    expectSame(await readFile(join(dir, UNET)), bench.hub.files.get(UNET)!.content);
    expect(bench.hub.contentRequests(UNET).map(({ range }) => range)).toEqual([undefined, "bytes=1000-"]);
  });

  it("says that nobody listens at the address", async () => {
    const options = bench.options({ tuning: { maxAttempts: 2 } });
    await bench.hub.stop();
    const error = await failureOf(resolveModel(NAME, options));
    expect(error.message).toMatch(/ECONNREFUSED.*Check the network connection/);
    bench.hub = await (await import("../../../../tooling/testing/fake-hub")).FakeHub.start();
  });

  it("tells a machine without a network after one more attempt, not after all of them", async () => {
    let numAttempts = 0;
    const away = () => {
      numAttempts++;
      const cause = Object.assign(new Error("getaddrinfo ENOTFOUND huggingface.co"), { code: "ENOTFOUND" });
      return Promise.reject(new TypeError("fetch failed", { cause }));
    };
    const error = await failureOf(resolveModel(NAME, bench.options({ fetch: away, tuning: { maxAttempts: 5 } })));
    expect(error.message).toMatch(/ENOTFOUND.*Check the network connection/);
    expect(numAttempts).toBe(2);
  });

  it("tells an address that cannot be used as soon", { retry: 2 }, async () => {
    const startMs = performance.now();
    const tuning = { maxAttempts: 5, baseDelayMs: 200, maxDelayMs: 10_000 };
    const error = await failureOf(resolveModel(NAME, bench.options({ endpoint: "http://127.0.0.1:9", tuning })));
    expect(error.message).toContain("bad port");
    // Five attempts would wait for 3 s in all.
    expect(performance.now() - startMs).toBeLessThan(2500);
  });

  it("keeps all attempts for a connection that breaks off after the Hub has answered", async () => {
    let numAttempts = 0;
    const away: typeof fetch = (input, init) => {
      if (!String(input).includes("/tree/")) return fetch(input, init);
      numAttempts++;
      const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      return Promise.reject(new TypeError("fetch failed", { cause }));
    };
    await failureOf(resolveModel(NAME, bench.options({ fetch: away, tuning: { maxAttempts: 5 } })));
    expect(numAttempts).toBe(5);
  });

  it.each([
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, 10_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ ratelimit: '"api";r=0;t=55' }, 55_000],
    [{ ratelimit: '"api";r=7;t=55' }, undefined],
    [{}, undefined],
  ])("reads the wait from %j", (headers, expected) => {
    expect(requestedWaitMs(new Headers(headers as Record<string, string>), Date.UTC(2026, 0, 1))).toBe(expected);
  });
});

describe("disk", () => {
  it("says how much is needed and how much is free, before anything is downloaded", async () => {
    const settings = await hubSettings(bench.options());
    const error = await failureOf(downloadSnapshot(settings, NAME, "main", async () => 500_000));
    expect(error.code).toBe("io");
    expect(error.message).toMatch(/expected 600\.\d\d kB free .*, got 500\.00 kB free/);
    expect(bench.hub.requests.some(({ url }) => url.includes("/resolve/"))).toBe(false);
    await downloadSnapshot(settings, NAME, "main", async () => 700_000);
  });

  it("names a cache folder that cannot be made", async () => {
    const error = await failureOf(resolveModel(NAME, bench.options({ cacheDir: "/dev/null/cache" })));
    expect(error.message).toMatch(/a cache folder that can be written: \/dev\/null\/cache, got ENOTDIR/);
  });
});

describe("cancel", () => {
  it("ends at once and keeps what came for the next time", async () => {
    const controller = new AbortController();
    const content = bench.hub.files.get(UNET)!.content;
    bench.hub.intercept = ({ url, range }, response) => {
      if (!url.includes("/bucket/unet") || range !== undefined) return false;
      response.writeHead(200, { "Content-Length": content.length });
      response.write(content.subarray(0, 50_000));
      return true;
    };
    const options = bench.options({
      signal: controller.signal,
      onProgress: ({ file, receivedBytes }) => {
        if (file === UNET && receivedBytes >= 50_000) controller.abort(new Error("enough"));
      },
    });
    const error = await failureOf(resolveModel(NAME, options));
    expect(error.code).toBe("cancelled");
    const repo = join(bench.cacheDir, "models--some-org--tiny-svd");
    const left = (await readdir(join(repo, "blobs"))).filter((name) => name.endsWith(".incomplete"));
    expect(left.length).toBeGreaterThanOrEqual(1);
    expect(await readdir(join(bench.cacheDir, ".locks", "models--some-org--tiny-svd"))).toEqual([]);
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readFile(join(dir, UNET)), content);
    expect(bench.hub.contentRequests(UNET).map(({ range }) => range)).toEqual([undefined, "bytes=50000-"]);
  });

  it("works before the first request and while the Hub does not answer", async () => {
    const signal = AbortSignal.abort();
    expect((await failureOf(resolveModel(NAME, bench.options({ signal })))).code).toBe("cancelled");
    expect(bench.hub.requests).toEqual([]);
    bench.hub.intercept = () => true;
    const soon = AbortSignal.timeout(50);
    expect((await failureOf(resolveModel(NAME, bench.options({ signal: soon })))).code).toBe("cancelled");
  });

  it("ends a wait between attempts", async () => {
    answer("/api/", 503, { "Retry-After": "100" });
    const error = await failureOf(resolveModel(NAME, bench.options({ signal: AbortSignal.timeout(50) })));
    expect(error.code).toBe("cancelled");
  });
});

describe("offline", () => {
  const offline = { HF_HUB_OFFLINE: "1" };
  const withEnvironment = () => bench.options({ environment: { HOME: bench.cacheDir, ...offline } });

  it("finds a cached model by branch and by commit without any request", async () => {
    const online = await resolveModel(NAME, bench.options());
    const numRequests = bench.hub.requests.length;
    expect(await resolveModel(NAME, withEnvironment())).toEqual(online);
    expect(await resolveModel(`${NAME}@${COMMIT}`, bench.options({ offline: true }))).toEqual(online);
    expect(bench.hub.requests.length).toBe(numRequests);
  });

  it("takes the other number format if only that is cached", async () => {
    const online = await resolveModel(NAME, bench.options({ dtype: "fp16" }));
    expect(await resolveModel(NAME, withEnvironment())).toEqual(online);
  });

  it("says what is missing", async () => {
    const nothing = await failureOf(resolveModel(NAME, withEnvironment()));
    expect(nothing.message).toMatch(/as offline mode is on, got none\. Unset HF_HUB_OFFLINE/);
    expect(bench.hub.requests).toEqual([]);
    answer("/bucket/vae", 404);
    await failureOf(resolveModel(`${NAME}@${COMMIT}`, bench.options({ maxParallel: 1 })));
    const part = await failureOf(resolveModel(`${NAME}@${COMMIT}`, withEnvironment()));
    expect(part.got).toBe("one without vae/diffusion_pytorch_model.safetensors");
  });

  it("keeps using the last whole state of a branch if a newer one could not be downloaded", async () => {
    const old = await resolveModel(NAME, bench.options());
    bench.hub.refs.set("main", NEXT_COMMIT);
    bench.hub.files.set(UNET, { content: bytes(1000, 50), lfs: true });
    answer("/bucket/unet", 404);
    await failureOf(resolveModel(NAME, bench.options()));
    expect(await resolveModel(NAME, withEnvironment())).toEqual(old);
  });

  it("is not needed when the Hub is away: the cached model is used, with a notice and one attempt only", async () => {
    const online = await resolveModel(NAME, bench.options());
    answer("/api/", 503);
    bench.hub.requests.length = 0;
    const notices: string[] = [];
    expect(await resolveModel(NAME, bench.options({ onNotice: (text) => notices.push(text) }))).toEqual(online);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/cannot be reached \(status 503\): using the copy in/);
    expect(bench.hub.requests).toHaveLength(1);
  });
});
