import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { refusalOf, urlOf } from "../../src/server/guard";

const request = (headers: Record<string, string>, url = "/") => ({ url, headers }) as unknown as IncomingMessage;

describe("a server that only this machine can reach", () => {
  const options = { port: 8484, token: undefined };

  it.each(["localhost:8484", "127.0.0.1:8484", "[::1]:8484"])("answers as %s", (host) => {
    expect(refusalOf(request({ host }), options)).toBeUndefined();
    expect(refusalOf(request({ host, origin: `http://${host}` }), options)).toBeUndefined();
  });

  it.each([
    "evil.example:8484",
    "localhost:8485",
    "localhost",
    "localhost.evil.example:8484",
    "127.0.0.1.nip.io:8484",
    "",
  ])("does not answer as %s: DNS rebinding", (host) => {
    expect(refusalOf(request({ host }), options)).toContain("localhost:8484 only");
  });

  it.each(["http://evil.example", "https://localhost:8484", "http://localhost:3000", "null"])(
    "does not answer pages of %s",
    (origin) => {
      expect(refusalOf(request({ host: "localhost:8484", origin }), options)).toContain("its own page only");
    },
  );

  it("answers without the port where it is the browser's own", () => {
    expect(refusalOf(request({ host: "localhost" }), { port: 80, token: undefined })).toBeUndefined();
  });
});

describe("a server for the network", () => {
  const options = { port: 8484, token: "secret" };

  it("answers whoever has the token, under any name", () => {
    expect(refusalOf(request({ host: "box.lan:8484" }, "/?token=secret"), options)).toBeUndefined();
  });

  it.each(["/", "/?token=", "/?token=Secret", "/?token=secrets", "/?token=s%C3%A9cret"])(
    "answers %s with no",
    (url) => {
      expect(refusalOf(request({ host: "box.lan:8484" }, url), options)).toContain("needs the token");
    },
  );

  it("does not answer pages of other sites, even with the token", () => {
    const headers = { host: "box.lan:8484", origin: "http://evil.example" };
    expect(refusalOf(request(headers, "/?token=secret"), options)).toContain("its own page only");
  });
});

it.each([
  ["/", "/"],
  ["/socket?token=a", "/socket"],
  ["//", "//"],
  ["//evil.example:99999/", "//evil.example:99999/"],
  ["http://", "/http://"],
  ["http://evil.example/", "/http://evil.example/"],
  ["*", "/*"],
])("reads the path of %s", (url, pathname) => {
  expect(urlOf({ url }).pathname).toBe(pathname);
});
