import { describe, expect, it } from "vitest";
import { withCallbacks } from "../src/callbacks";

interface Options {
  onPart?: ((part: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Calls `onPart` for three parts, a turn of the event loop apart, and counts them. */
const threeParts = (options: Options) =>
  withCallbacks(options, ["onPart"], "work", async ({ onPart }) => {
    let done = 0;
    for (; done < 3; done++) {
      onPart?.(done);
      await turn();
    }
    return done;
  });

describe("withCallbacks", () => {
  it("returns what the work returns, with and without callbacks", async () => {
    const parts: number[] = [];
    expect(await threeParts({})).toBe(3);
    expect(await threeParts({ onPart: (part) => parts.push(part) })).toBe(3);
    expect(await threeParts({ onPart: async (part) => void parts.push(part) })).toBe(3);
    expect(parts).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it.each([0, 1, 2])("fails with the error of an async callback that rejects at part %i", async (bad) => {
    const failure = new Error("the callback's own");
    let calls = 0;
    const onPart = async (part: number) => {
      calls++;
      if (part === bad) throw failure;
    };
    await expect(threeParts({ onPart })).rejects.toBe(failure);
    expect(calls).toBe(bad + 1);
  });

  it("fails with what a callback throws at once, and with the first of several rejections", async () => {
    const onPart = (part: number) => {
      throw new Error(`part ${part}`);
    };
    await expect(threeParts({ onPart })).rejects.toThrow("part 0");
    const late = async (part: number) => {
      await turn();
      await turn();
      throw new Error(`part ${part}`);
    };
    await expect(threeParts({ onPart: late })).rejects.toThrow("part 0");
  });

  it("waits for answers that are still open at the end, until the signal fires", async () => {
    let ended = false;
    const onPart = async (part: number) => {
      for (let i = 0; i < 10; i++) await turn();
      if (part === 2) ended = true;
    };
    await threeParts({ onPart });
    expect(ended).toBe(true);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 5);
    const never = () => new Promise<void>(() => undefined);
    await expect(threeParts({ onPart: never, signal: controller.signal })).rejects.toMatchObject({
      code: "cancelled",
      cause: new Error("enough"),
    });
  });

  it("keeps the work's own error and leaves no rejection unhandled", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listen);
    const options: Options = {
      onPart: async () => {
        await turn();
        throw new Error("too late");
      },
    };
    const failing = withCallbacks(options, ["onPart"], "work", async ({ onPart }) => {
      onPart?.(0);
      throw new Error("the work's own");
    });
    await expect(failing).rejects.toThrow("the work's own");
    for (let i = 0; i < 4; i++) await turn();
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });
});
