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
});
