import { describe, expect, it } from "vitest";
import { cancelledError, throwIfAborted, VdError } from "../src/errors";

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

describe("a message", () => {
  const dataUrl = `data:image/png;base64,${"iVBORw0KGgo".repeat(2000)}==`;

  it("shows the beginning of a data: URL, wherever it stands", () => {
    const got = `"${dataUrl}", which is neither`;
    const hint = `/home/me/${dataUrl.replace("base64,", "base64,/")} does not exist.`;
    const error = new VdError({ code: "attr", where: dataUrl, expected: "a file", got, hint });
    expect(error.message.length).toBeLessThan(400);
    expect(error.got).toBe(`"${dataUrl.slice(0, 48)}… (22024 characters)", which is neither`);
    expect(error.hint).toMatch(/^\/home\/me\/data:image\/png;base64,\/iVB.*… \(22034 characters\) does not exist\.$/);
    expect(error.where).toMatch(/^data:image\/png.*…/);
    const inBrackets = new VdError({ code: "io", where: "IMAGE", expected: "a file", got: `too long (${dataUrl})` });
    expect(inBrackets.got).toMatch(/^too long \(data:.*… \(22024 characters\)\)$/);
  });

  it("leaves short ones and long paths as they are", () => {
    const path = `/${"folder/".repeat(100)}data:x,y`;
    const sentence = `${"many words ".repeat(200)}data: 1,2`;
    const error = new VdError({ code: "io", where: path, expected: sentence, got: "data:text/plain,hello" });
    expect(error).toMatchObject({ where: path, expected: sentence, got: "data:text/plain,hello" });
  });

  it("cuts any other word that would fill a screen", () => {
    const error = new VdError({ code: "attr", where: "--seed", expected: "a number", got: "9".repeat(5000) });
    expect(error.got).toBe(`${"9".repeat(48)}… (5000 characters)`);
  });
});
