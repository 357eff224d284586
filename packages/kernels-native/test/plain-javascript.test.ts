// What a caller without types may give in place of buffers and options.
import { expect, it } from "vitest";
import { allocateBuffer, openDevice } from "../src/index";

const any = (value: unknown) => value as never;

it.each([undefined, null, "x", 5, {}])("%j is no buffer to copy from", async (source) => {
  const buffer = allocateBuffer(16);
  expect(() => buffer.copyFromSync(any(source), 0, 0, 4)).toThrow("[copyFromSync source] expected a buffer of ");
  await expect(buffer.copyFrom(any(source), 0, 0, 4)).rejects.toThrow("[copyFrom source] expected a buffer of ");
});

it.each([null, "x", 5])("%j is no object of options", async (options) => {
  expect(() => openDevice("cpu", any(options))).toThrow("[openDevice] expected an object of options, got ");
  await expect(allocateBuffer(16).readFloats(any(options))).rejects.toThrow(
    "[readFloats] expected an object of options, got ",
  );
});
