import { describe, expect, it } from "vitest";
import { Turns } from "../../src/generation/turns";

/** A promise, and what settles it. */
function later() {
  let end = () => {};
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}

const run = <T>(turns: Turns, work: () => Promise<T>, signal?: AbortSignal) => turns.run(work, signal, "turn");
const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("turns", () => {
  it("are taken one after the other, in the order of the calls, also past one that fails", async () => {
    const turns = new Turns();
    const seen: number[] = [];
    const note = (n: number) => run(turns, async () => void seen.push(n));
    const failing = run(turns, async () => {
      await soon();
      throw new Error("failed");
    });
    const others = [note(1), note(2)];
    await expect(failing).rejects.toThrow("failed");
    await Promise.all(others);
    expect(seen).toEqual([1, 2]);
  });

  it("wait for what goes on of the turn before, and its caller does not", async () => {
    const turns = new Turns();
    const { promise, end } = later();
    const first = run(turns, async () => {
      turns.extend(promise);
      return "first";
    });
    let began = false;
    const second = run(turns, async () => {
      began = true;
      return "second";
    });
    expect(await first).toBe("first");
    await soon();
    expect(began).toBe(false);
    let isOver = false;
    turns.whenOver(() => {
      isOver = true;
    });
    expect(isOver).toBe(false);
    end();
    expect(await second).toBe("second");
    expect(isOver).toBe(true);
    // Nothing goes on of the second.
    isOver = false;
    turns.whenOver(() => {
      isOver = true;
    });
    expect(isOver).toBe(true);
    expect(await run(turns, async () => "third")).toBe("third");
  });

  it("are given up by a signal while they wait", async () => {
    const turns = new Turns();
    const { promise, end } = later();
    await run(turns, async () => turns.extend(promise));
    const stop = new AbortController();
    const waiting = run(turns, async () => "never", stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    end();
    expect(await run(turns, async () => "next")).toBe("next");
  });
});
