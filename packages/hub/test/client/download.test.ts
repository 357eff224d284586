import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import {
  breakAfter,
  breakBehind,
  bytes,
  COMMIT,
  digestOf,
  type FakeFile,
  sendRange,
} from "../../../../tooling/testing/fake-hub";
import { type DownloadProgress, resolveModel } from "../../src/index";
import { expectSame, useWorkbench } from "./workbench";

const bench = useWorkbench();
const NAME = "some-org/tiny-svd";
const UNET = "unet/diffusion_pytorch_model.safetensors";
const blobs = () => join(bench.cacheDir, "models--some-org--tiny-svd", "blobs");
const unet = () => bench.hub.files.get(UNET) as FakeFile;
const incompleteFiles = async () => (await readdir(blobs())).filter((name) => name.endsWith(".incomplete"));
const readUnet = (dir: string) => readFile(join(dir, UNET));

async function leaveIncomplete(content: Buffer): Promise<void> {
  await mkdir(blobs(), { recursive: true });
  await writeFile(join(blobs(), `${digestOf(unet())}.incomplete`), content);
}

/** Settles once the incomplete file has so many bytes. */
async function kept(count: number): Promise<void> {
  const path = join(blobs(), `${digestOf(unet())}.incomplete`);
  const sizeOf = () =>
    stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  await vi.waitFor(async () => expect(await sizeOf()).toBe(count), { timeout: 10_000, interval: 2 });
}

describe("resume", () => {
  it("goes on after a connection that breaks midway, with Range and If-Range", async () => {
    let broken = 0;
    bench.hub.intercept = ({ url, origin }, response) => {
      if (origin !== "cdn" || !url.endsWith(UNET) || broken++ > 0) return false;
      const headers = { ETag: `"cdn-${unet().content.length}"` };
      breakAfter(response, unet().content, 120_000, { headers, arrived: () => kept(120_000) });
      return true;
    };
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    const [first, second, ...more] = bench.hub.contentRequests(UNET);
    expect(first?.range).toBeUndefined();
    expect(second?.range).toBe("bytes=120000-");
    expect(second?.ifRange).toBe(`"cdn-${unet().content.length}"`);
    expect(more).toEqual([]);
    expect(await incompleteFiles()).toEqual([]);
  });

  it("survives more breaks than attempts as long as each brings something", async () => {
    const step = 20_000;
    bench.hub.intercept = ({ url, origin, range }, response) => {
      if (origin !== "cdn" || !url.endsWith(UNET)) return false;
      const from = Number(/\d+/.exec(range ?? "0")?.[0]);
      const { content } = unet();
      // The last part completes the file, which is no longer incomplete then.
      const arrived = from + step < content.length ? () => kept(from + step) : undefined;
      if (from === 0) breakAfter(response, content, step, { ...(arrived && { arrived }) });
      else {
        response.writeHead(206, {
          "Content-Range": `bytes ${from}-${content.length - 1}/${content.length}`,
          "Content-Length": content.length - from,
        });
        breakBehind(response, content.subarray(from, from + step), arrived);
      }
      return true;
    };
    const { dir } = await resolveModel(NAME, bench.options({ tuning: { maxAttempts: 2 } }));
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.contentRequests(UNET)).toHaveLength(10);
  });

  it("takes up the incomplete file of an earlier run and counts it as received", async () => {
    await leaveIncomplete(unet().content.subarray(0, 150_000));
    const seen: DownloadProgress[] = [];
    const { dir } = await resolveModel(NAME, bench.options({ onProgress: (progress) => seen.push(progress) }));
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.contentRequests(UNET).map(({ range }) => range)).toEqual(["bytes=150000-"]);
    expect(seen.find(({ file }) => file === UNET)?.receivedBytes).toBe(150_000);
  });

  it("asks for nothing if the incomplete file is whole", async () => {
    await leaveIncomplete(unet().content);
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.contentRequests(UNET)).toEqual([]);
  });

  it.each([
    ["damaged", bytes(150_000, 99)],
    ["longer than the file", bytes(300_000, 99)],
    ["damaged and whole", bytes(200_000, 99)],
  ])("fetches everything anew if the incomplete file is %s", async (_, content) => {
    await leaveIncomplete(content);
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.contentRequests(UNET).at(-1)?.range).toBeUndefined();
  });

  it.each([
    ["ignores Range", 200, undefined],
    ["answers another range", 206, "bytes 0-199999/200000"],
    ["answers the range of another file", 206, "bytes 150000-199998/199999"],
    ["refuses the range", 416, "bytes */200000"],
  ])("starts anew if the server %s", async (_, status, contentRange) => {
    await leaveIncomplete(unet().content.subarray(0, 150_000));
    bench.hub.intercept = ({ url, origin, range }, response) => {
      if (origin !== "cdn" || !url.endsWith(UNET) || range === undefined) return false;
      response.writeHead(status, contentRange === undefined ? {} : { "Content-Range": contentRange });
      response.end(status === 416 ? undefined : unet().content);
      return true;
    };
    const seen: DownloadProgress[] = [];
    const { dir } = await resolveModel(NAME, bench.options({ onProgress: (progress) => seen.push(progress) }));
    expectSame(await readUnet(dir), unet().content);
    expect(seen.at(-1)?.receivedTotalBytes).toBe(seen.at(-1)?.totalBytes);
  });

  it("accepts a rest without a known total", async () => {
    await leaveIncomplete(unet().content.subarray(0, 150_000));
    bench.hub.intercept = ({ url, origin, range }, response) => {
      if (origin !== "cdn" || !url.endsWith(UNET) || range === undefined) return false;
      response.writeHead(206, { "Content-Range": "bytes 150000-199999/*" }).end(unet().content.subarray(150_000));
      return true;
    };
    expectSame(await readUnet((await resolveModel(NAME, bench.options())).dir), unet().content);
    expect(bench.hub.contentRequests(UNET)).toHaveLength(1);
  });
});

describe("checksum", () => {
  it.each([
    ["a large file by SHA-256", UNET, "SHA-256"],
    ["a small file by git's SHA-1", "vae/config.json", "git SHA-1"],
  ])("refuses %s and deletes what came", async (_, name, kind) => {
    const { content } = bench.hub.files.get(name)!;
    bench.hub.intercept = ({ url, origin }, response) => {
      const isContent = url.endsWith(name) && (origin === "cdn" || kind !== "SHA-256");
      if (isContent) response.writeHead(200).end(bytes(content.length, 77));
      return isContent;
    };
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.code).toBe("io");
    expect(error.where).toBe(`${NAME}/${name}`);
    expect(error.expected).toContain(`${kind} ${digestOf(bench.hub.files.get(name)!)}`);
    expect(error.hint).toMatch(/deleted/);
    const digest = digestOf(bench.hub.files.get(name)!);
    expect((await readdir(blobs())).filter((blob) => blob.startsWith(digest))).toEqual([]);
    bench.hub.intercept = () => false;
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readFile(join(dir, name)), content);
  });

  it("is given a second chance where the content came in pieces", async () => {
    let broken = 0;
    bench.hub.intercept = ({ url, origin }, response) => {
      if (origin !== "cdn" || !url.endsWith(UNET) || broken++ > 0) return false;
      breakAfter(response, bytes(unet().content.length, 77), 1000, { arrived: () => kept(1000) });
      return true;
    };
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.contentRequests(UNET).map(({ range }) => range)).toEqual([undefined, "bytes=1000-", undefined]);
  });

  it("does not accept more bytes than the file has", async () => {
    bench.hub.intercept = ({ url, origin }, response) => {
      const isContent = origin === "cdn" && url.endsWith(UNET);
      if (isContent) response.writeHead(200).end(Buffer.concat([unet().content, bytes(5)]));
      return isContent;
    };
    const error = await failureOf(resolveModel(NAME, bench.options()));
    expect(error.got).toMatch(/more than the 200000 bytes/);
  });

  it("comes from the file's own headers where the list has none", async () => {
    bench.hub.describe = ({ oid, lfs, ...entry }) => entry;
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expectSame(await readFile(join(blobs(), digestOf(unet()))), unet().content);
    bench.hub.files.set("vae/config.json", { content: Buffer.from("other") });
    const heads = bench.hub.requests.filter(({ method }) => method === "HEAD");
    expect(heads).toHaveLength(9);
    expect(heads.every(({ origin }) => origin === "hub")).toBe(true);
  });

  it("is asked for if neither the list nor the headers have one", async () => {
    bench.hub.describe = ({ oid, lfs, ...entry }) => entry;
    bench.hub.intercept = ({ method, url }, response) => {
      const isHead = method === "HEAD" && url.endsWith("unet/config.json");
      if (isHead) response.writeHead(200, { ETag: '"v1"', "Content-Length": 5 }).end();
      return isHead;
    };
    expect((await failureOf(resolveModel(NAME, bench.options()))).message).toMatch(
      /a size and a checksum from the Hub/,
    );
  });
});

describe("token", () => {
  it("goes to the Hub and never to the origin it redirects to", async () => {
    await resolveModel(NAME, bench.options({ token: "secret-token" }));
    const seen = (origin: string) => bench.hub.requests.filter((request) => request.origin === origin);
    expect(seen("hub").length).toBeGreaterThan(5);
    expect(seen("cdn")).toHaveLength(3);
    expect(new Set(seen("hub").map(({ authorization }) => authorization))).toEqual(new Set(["Bearer secret-token"]));
    expect(new Set(seen("cdn").map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
  });

  it("stays on a redirect within the Hub, as after a rename, and is gone after a detour", async () => {
    const content = bench.hub.files.get("vae/config.json")!.content;
    bench.hub.intercept = ({ url, origin }, response) => {
      if (url.endsWith(`resolve/${COMMIT}/vae/config.json`)) response.writeHead(307, { Location: "/moved" }).end();
      else if (url === "/moved") response.writeHead(302, { Location: `${bench.hub.cdnOrigin}/away` }).end();
      else if (url === "/away") response.writeHead(302, { Location: `${bench.hub.endpoint}/back` }).end();
      else if (url === "/back" && origin === "hub") response.writeHead(200).end(content);
      else return false;
      return true;
    };
    await resolveModel(NAME, bench.options({ token: "secret-token" }));
    const token = (path: string) => bench.hub.requests.find(({ url }) => url === path)?.authorization;
    expect([token("/moved"), token("/away"), token("/back")]).toEqual(["Bearer secret-token", undefined, undefined]);
  });

  it("does not follow the next page of the file list to another origin", async () => {
    bench.hub.intercept = ({ url, origin }, response) => {
      if (origin === "cdn" && url.startsWith("/next")) response.writeHead(200).end("[]");
      else if (origin === "hub" && url.includes("/tree/")) {
        response.writeHead(200, { Link: `<${bench.hub.cdnOrigin}/next>; rel="next"` }).end("[]");
      } else return false;
      return true;
    };
    await failureOf(resolveModel(NAME, bench.options({ token: "secret-token" })));
    expect(bench.hub.requests.at(-1)).toMatchObject({ origin: "cdn", url: "/next", authorization: undefined });
  });

  it("ends after ten redirects", async () => {
    bench.hub.intercept = ({ url }, response) => {
      const loops = url.includes("vae/config.json");
      if (loops) response.writeHead(302, { Location: `${url}x` }).end();
      return loops;
    };
    expect((await failureOf(resolveModel(NAME, bench.options()))).message).toMatch(/at most 10 redirects/);
  });
});

describe("selection and list", () => {
  it("never asks for copies in other formats, other variants or single-file checkpoints", async () => {
    await resolveModel(NAME, bench.options());
    const asked = bench.hub.requests.map(({ url }) => url).filter((url) => url.includes("/resolve/"));
    expect(asked.filter((url) => /\.bin|\.onnx|fp16|svd_xt|README|gitattributes/.test(url))).toEqual([]);
    expect(asked).toHaveLength(9);
  });

  it("reads a list of several pages", async () => {
    bench.hub.pageSize = 4;
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expect(bench.hub.requests.filter(({ url }) => url.includes("/tree/"))).toHaveLength(6);
  });

  it("takes sharded weights with their index", async () => {
    bench.hub.files.delete(UNET);
    const stem = "unet/diffusion_pytorch_model";
    const shards = [`${stem}-00001-of-00002.safetensors`, `${stem}-00002-of-00002.safetensors`];
    for (const [i, name] of shards.entries()) bench.hub.files.set(name, { content: bytes(50_000, 20 + i), lfs: true });
    bench.hub.files.set(`${stem}.safetensors.index.json`, { content: Buffer.from('{"weight_map": {}}') });
    const { dir } = await resolveModel(NAME, bench.options());
    expect((await readdir(join(dir, "unet"))).sort()).toEqual(
      ["config.json", ...shards, `${stem}.safetensors.index.json`].map((name) => name.replace("unet/", "")).sort(),
    );
  });

  it.each(["../../outside.json", "unet/../../../outside.safetensors", "/etc/outside", "scheduler\\..\\..\\x.json"])(
    "refuses a list with the name %j, downloads nothing",
    async (name) => {
      bench.hub.files.set(name, { content: Buffer.from("x") });
      const error = await failureOf(resolveModel(NAME, bench.options()));
      expect(error.message).toMatch(/file names inside the repository/);
      expect(bench.hub.requests.some(({ url }) => url.includes("/resolve/"))).toBe(false);
      await expect(readdir(bench.cacheDir)).resolves.toEqual([]);
    },
  );

  it("leaves out names that only some systems can store", async () => {
    bench.hub.files.set("scheduler/a:b.json", { content: Buffer.from("x") });
    const { dir } = await resolveModel(NAME, bench.options());
    expect(await readdir(join(dir, "scheduler"))).toEqual(["scheduler_config.json"]);
  });

  it.each([["../../../x"], ["0123"], [undefined]])("refuses the commit %j", async (sha) => {
    bench.hub.intercept = ({ url }, response) => {
      const isInfo = url.includes("/revision/");
      if (isInfo) response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ id: "x", sha }));
      return isInfo;
    };
    expect((await failureOf(resolveModel(NAME, bench.options()))).message).toMatch(/40 hexadecimal digits/);
  });

  it("never uses a checksum from the server as a path", async () => {
    bench.hub.describe = (entry) => ({ ...entry, oid: "../../../evil", lfs: undefined });
    const { dir } = await resolveModel(NAME, bench.options());
    expectSame(await readUnet(dir), unet().content);
    expect((await readdir(blobs())).every((name) => /^[0-9a-f]+$/.test(name))).toBe(true);
  });
});

describe("progress", () => {
  it("adds up the files that are downloaded and ends at the total", async () => {
    const seen: DownloadProgress[] = [];
    await resolveModel(NAME, bench.options({ onProgress: (progress) => seen.push(progress), maxParallel: 2 }));
    const names = new Set(seen.map(({ file }) => file));
    const total = [...names].reduce((sum, name) => sum + bench.hub.files.get(name)!.content.length, 0);
    expect(names.size).toBe(9);
    expect(new Set(seen.map(({ totalBytes }) => totalBytes))).toEqual(new Set([total]));
    expect(seen.at(-1)?.receivedTotalBytes).toBe(total);
    for (const name of names) {
      const received = seen.filter(({ file }) => file === name).map(({ receivedBytes }) => receivedBytes);
      expect(received).toEqual([...received].sort((a, b) => a - b));
      expect(received.at(-1)).toBe(bench.hub.files.get(name)!.content.length);
    }
  });

  it("downloads no more files at a time than asked for", async () => {
    let [open, most] = [0, 0];
    bench.hub.intercept = async ({ url, origin, range }, response) => {
      if (origin !== "cdn" || range !== undefined) return false;
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 30));
      open--;
      sendRange(response, bench.hub.files.get(url.replace("/bucket/", ""))!.content, 0);
      return true;
    };
    await resolveModel(NAME, bench.options({ maxParallel: 2 }));
    expect(most).toBeLessThanOrEqual(2);
    expect((await failureOf(resolveModel(NAME, bench.options({ maxParallel: 0 })))).code).toBe("attr");
  });
});
