import { expect, it } from "vitest";
import { isLoopback, LOCAL_NAMES } from "../src/loopback";

it("knows this machine's own addresses", () => {
  expect(["localhost", "127.0.0.1", "127.1.2.3", "::1"].map(isLoopback)).toEqual([true, true, true, true]);
  expect(["0.0.0.0", "::", "192.168.1.4", "127.0.0.1.nip.io", "localhost.lan"].some(isLoopback)).toBe(false);
});

it("calls itself by names whose addresses are its own", () => {
  expect(LOCAL_NAMES.every(isLoopback)).toBe(true);
});
