import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { loadImage } from "../../src/pictures/load-image";

const picture = noiseImage(6, 4);
const folder = mkdtempSync(join(tmpdir(), "vd sources "));
let png: Buffer;
let server: Server;
let origin: string;

beforeAll(async () => {
  png = await sharp(picture.data, { raw: { width: 6, height: 4, channels: 3 } })
    .png()
    .toBuffer();
  writeFileSync(join(folder, "a b.png"), png);
  server = createServer((request, response) => {
    if (request.url === "/moved.png") return response.writeHead(302, { location: "/a.png" }).end();
    if (request.url === "/huge.png") return response.writeHead(200, { "content-length": 2 ** 40 }).flushHeaders();
    if (request.url === "/cut.png") {
      response.writeHead(200, { "content-length": png.length });
      return response.write(png.subarray(0, 10), () => response.destroy());
    }
    if (request.url !== "/a.png") return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": "image/png" }).end(png);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("where pictures come from", () => {
  it("is a path, an address or a file's bytes in any form", async () => {
    const path = join(folder, "a b.png");
    const base64 = `data:image/png;base64,${png.toString("base64")}`;
    const escaped = `data:image/png,${[...png].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")}`;
    const sources = [
      ...[path, pathToFileURL(path), pathToFileURL(path).href],
      ...[base64, new URL(base64), escaped],
      ...[`${origin}/a.png`, new URL(`${origin}/moved.png`)],
      ...[png, new Uint8Array(png), new Uint8Array(png).buffer, new Blob([new Uint8Array(png)])],
      Readable.from([png.subarray(0, 9), png.subarray(9)]),
      Readable.toWeb(Readable.from([png])) as AsyncIterable<Uint8Array>,
      sharp(png),
    ];
    for (const source of sources) expect(await loadImage(source)).toEqual(picture);
  });

  it("is told in errors", async () => {
    const got = async (source: unknown) => (await failureOf(loadImage(source as string))).got;
    expect(await got(`${origin}/none.png`)).toBe("the answer 404 Not Found");
    expect(await got(`${origin}/huge.png`)).toBe(`a file of ${2 ** 20} MiB`);
    expect(await got(`${origin}/cut.png`)).toMatch(/^a server that does not answer/);
    expect(await got("http://127.0.0.1:1/a.png")).toMatch(/^a server that does not answer/);
    expect(await got("https://")).toBe("an address that is none");
    expect(await got(new URL("ftp://example.org/a.png"))).toBe("an address of the kind ftp:");
    expect(await got("data:image/png;base64")).toBe("one without a comma before its data");
    expect(await got("data:image/png,%zz")).toBe("3 bytes that are none");
    expect(await got(Readable.from(["text"]))).toBe("a stream of strings");
    expect(await got(new Blob([]))).toBe("an empty file");
    expect(await got(sharp(Buffer.from("none")))).toMatch(/unsupported image format/);
    for (const source of [undefined, null, 5, {}, () => 1])
      expect((await failureOf(loadImage(source as never))).code).toBe("attr");
  });
});
