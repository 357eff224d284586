import { describe, expect, it } from "vitest";
import { openDevice } from "../src/device";
import { isVdError } from "../src/errors";

describe("openDevice", () => {
  it("names the kinds there are for one that is none", () => {
    const open = () => openDevice("tpu" as never);
    expect(open).toThrow("[device] expected one of cpu, cuda, got tpu");
    try {
      open();
    } catch (error) {
      expect(isVdError(error) && error.code).toBe("attr");
    }
  });

  it.each([0, -1, 1.5, 1e6, Number.NaN, "two"])("refuses %s threads in one sentence", (threads) => {
    expect(() => openDevice("cpu", { threads: threads as number })).toThrow(
      `[openDevice threads] expected a whole number from 1 to 1024, got ${threads}`,
    );
  });

  it("names its option, not a function behind it, for instructions that there are not", () => {
    expect(() => openDevice("cpu", { isa: "avx1024" })).toThrow("[openDevice isa] expected best, amx, ");
  });
});
