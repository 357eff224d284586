import { describe, expect, it } from "vitest";
import { cancelledError, throwIfAborted } from "../src/errors";

describe("a cancellation", () => {
  it("says what was cancelled, and has the signal's reason as its cause", () => {
    const reason = new Error("enough");
    const error = cancelledError("generation", { signal: AbortSignal.abort(reason) });
    expect(error.message).toBe("[generation] expected to run to its end, got an abort");
    expect(error).toMatchObject({ code: "cancelled", where: "generation" });
    expect(error.cause).toBe(reason);
  });

  it("names the work where the place is not the work itself, and what to do", () => {
    const { signal } = new AbortController();
    throwIfAborted(signal, "org/name", { work: "the download" });
    throwIfAborted(undefined, "org/name");
    const abort = () =>
      throwIfAborted(AbortSignal.abort(), "org/name", { work: "the download", hint: "Run it again." });
    expect(abort).toThrow("[org/name] expected the download to run to its end, got an abort. Run it again.");
  });
});
