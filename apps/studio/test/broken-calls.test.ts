import { request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { rawCall } from "./support/raw-call";

const { folder, remove } = temporaryFolder();
const patience = { headersMs: 300, callMs: 3000, silenceMs: 1000, lookMs: 50, lastMs: 200 };
let studio: TestStudio;
beforeAll(async () => {
  studio = await startTestStudio(folder, ["--max-body", "0.5"], { patience });
});
afterAll(async () => {
  await studio.stop();
  remove();
});

const HALF_MIB = 2 ** 19;
const head = (line: string, ...headers: string[]) =>
  [line, `host: localhost:${studio.port}`, ...headers, "", ""].join("\r\n");

describe("calls that are no calls", () => {
  it.each([
    ["no HTTP at all", () => "HELLO\r\n\r\n", 400],
    ["an address that cannot be read", () => head("GET /%zz HTTP/1.1", "connection: close"), 400],
    ["no Host", () => "GET /v1/models HTTP/1.0\r\n\r\n", 403],
    ["no Host where one is due", () => "GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
    ["too many headers", () => head("GET / HTTP/1.1", `x: ${"a".repeat(20_000)}`), 431],
    ["a parent folder as an id", () => head("GET /v1/videos/..%2f..%2fetc HTTP/1.1", "connection: close"), 404],
    ["a folder as a start", () => head("GET /v1/videos/../../etc/passwd HTTP/1.1", "connection: close"), 404],
  ])("%s gets a problem", async (_, text, status) => {
    const answer = await rawCall(studio.port, text());
    expect(answer.text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.text.toLowerCase()).toContain("content-type: application/problem+json");
    expect(JSON.parse(answer.text.slice(answer.text.indexOf("\r\n\r\n")))).toMatchObject({ status });
    expect(answer.isClosed).toBe(true);
  });

  it("a body for nothing is not read", async () => {
    const post = head("POST /nothing HTTP/1.1", "content-type: application/json", "content-length: 400000");
    expect((await rawCall(studio.port, post, { waitMs: 2000 })).text).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe("whoever holds connections is let go", () => {
  it("that sends headers byte by byte", async () => {
    const answer = await rawCall(studio.port, "GET / HTTP/1.1\r\n", {
      goOn: (write) => {
        const timer = setInterval(() => write("x") || clearInterval(timer), 100);
      },
    });
    expect(answer.isClosed).toBe(true);
    expect(answer.text).toMatch(/^HTTP\/1.1 408 /);
  });

  it("that sends a body byte by byte", async () => {
    const text = head("POST /v1/videos HTTP/1.1", "content-type: application/json", "content-length: 9999");
    const answer = await rawCall(studio.port, text, {
      goOn: (write) => {
        const timer = setInterval(() => write(" ") || clearInterval(timer), 100);
      },
    });
    expect(answer.isClosed).toBe(true);
    expect(answer.text).toMatch(/^HTTP\/1.1 408 /);
  });

  it("that says nothing", async () => {
    expect(await rawCall(studio.port, "")).toEqual({ text: expect.any(String), isClosed: true });
  });
});

/** Sends a form in pieces without saying how long it is; resolves with the status, and how many bytes the server let come. */
function postForm(parts: Iterable<string>): Promise<{ status: number; numBytes: number }> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "multipart/form-data; boundary=b", "transfer-encoding": "chunked" };
    let numBytes = 0;
    let isOver = false;
    const call = request(new URL("v1/videos", studio.url), { method: "POST", headers }, (response) => {
      isOver = true;
      response.resume();
      resolve({ status: response.statusCode!, numBytes });
    });
    call.on("error", (error) => isOver || reject(error));
    void (async () => {
      for (const part of parts) {
        if (isOver) return call.destroy();
        numBytes += part.length;
        if (!call.write(part)) await Promise.race([new Promise((done) => call.once("drain", done)), wait(200)]);
      }
      call.end();
    })();
  });
}

const MANY = 100;
const PIECE = "a".repeat(2 ** 16);

it("a call that never ends does not keep the server from ending", async () => {
  const { folder, remove } = temporaryFolder();
  const other = await startTestStudio(folder, [], { patience: { ...patience, callMs: 60_000, silenceMs: 60_000 } });
  const text = head("POST /v1/videos HTTP/1.1", "content-type: application/json", "content-length: 9999");
  const held = rawCall(other.port, `${text}{`, { waitMs: 30_000 });
  await wait(200);
  await other.stop();
  expect((await held).isClosed).toBe(true);
  remove();
});

describe("a form that is too large", () => {
  it.each([
    [
      "in its file",
      function* () {
        yield '--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\n';
        for (let i = 0; i < MANY; i++) yield PIECE;
      },
    ],
    [
      "in its fields together",
      function* () {
        for (let i = 0; i < MANY; i++) yield `--b\r\ncontent-disposition: form-data; name="f${i}"\r\n\r\n${PIECE}\r\n`;
      },
    ],
    [
      "in one field",
      function* () {
        yield '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n';
        for (let i = 0; i < MANY; i++) yield PIECE;
        yield "\r\n--b--\r\n";
      },
    ],
  ])("%s is refused", async (_, parts) => {
    expect((await postForm(parts())).status).toBe(413);
  });

  it("is not read to its end, and one that breaks off is the client's mistake", async () => {
    const file = '--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\n';
    const endless = function* () {
      for (yield file; ; ) yield PIECE;
    };
    const { status, numBytes } = await postForm(endless());
    expect([status, numBytes < 64 * HALF_MIB]).toEqual([413, true]);
    expect((await postForm([file, PIECE])).status).toBe(400);
    const { length } = Buffer.from(file);
    const head = `content-length: ${length + 10 * HALF_MIB}`;
    const told = ["POST /v1/videos HTTP/1.1", `host: localhost:${studio.port}`, head];
    const text = [...told, "content-type: multipart/form-data; boundary=b", "", file].join("\r\n");
    expect((await rawCall(studio.port, text, { waitMs: 1000 })).text).toMatch(/^HTTP\/1.1 413 /);
  });
});
