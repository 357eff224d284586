import { afterEach, expect, test } from "vitest";
import { unpackedPath } from "../../src/unpacked-path";

const INSIDE = "/opt/app/resources/app.asar/node_modules/@vd/kernels-cuda/images";

afterEach(() => {
  delete (process.versions as Record<string, string>).electron;
});

const inElectron = () => Object.defineProperty(process.versions, "electron", { value: "45.0.0", configurable: true });

test("in Electron, files of an archive are looked for beside it", () => {
  inElectron();
  expect(unpackedPath(INSIDE)).toBe("/opt/app/resources/app.asar.unpacked/node_modules/@vd/kernels-cuda/images");
  expect(unpackedPath("C:\\app\\app.asar\\images")).toBe("C:\\app\\app.asar.unpacked\\images");
  const beside = "/opt/app/resources/app.asar.unpacked/images";
  expect(unpackedPath(beside)).toBe(beside);
});

test("elsewhere paths stay as they are", () => {
  expect(unpackedPath(INSIDE)).toBe(INSIDE);
});
