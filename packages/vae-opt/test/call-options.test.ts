import { openDevice } from "@vd/kernels-native";
import { expect, it } from "vitest";
import { checkCallOptions, deviceOf } from "../src/call-options";

const KINDS = { signal: "signal", scaled: "boolean", onNotice: "function", maxBytes: "any" } as const;
const check = (options: unknown) => () => checkCallOptions("decode", options, KINDS);

it("options of the right kinds are taken, undefined ones too", () => {
  const { signal } = new AbortController();
  const onNotice = () => {};
  for (const options of [{}, { signal, scaled: false, onNotice, maxBytes: "?" }, { signal: undefined }])
    expect(check(options)).not.toThrow();
});

it("others are refused in sentences", () => {
  expect(check(null)).toThrow("[decode] [options] expected an object, got null");
  expect(check([])).toThrow("[decode] [options] expected an object, got a list");
  expect(check({ maxbytes: 1 })).toThrow(
    "[decode] [maxbytes] expected one of signal, scaled, onNotice, maxBytes, got an unknown option",
  );
  expect(check({ toString: 1 })).toThrow("got an unknown option");
  expect(check({ signal: 5 })).toThrow("[decode] [signal] expected an AbortSignal, got 5");
  expect(check({ scaled: "no" })).toThrow("[decode] [scaled] expected true or false, got no");
  expect(check({ onNotice: null })).toThrow("[decode] [onNotice] expected a function, got null");
});

it("a device is opened by its kind, taken as it is, or refused", () => {
  const device = openDevice("cpu", { threads: 1 });
  expect(deviceOf(device)).toBe(device);
  expect(deviceOf("cpu").kind).toBe("cpu");
  for (const wrong of ["tpu", 5, null, {}])
    expect(() => deviceOf(wrong as never)).toThrow(/\[device\] expected one of cpu, cuda, got/);
});
