import { openDevice, VdError } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { DeviceTeam } from "../../src/devices/device-team";
import { rejection } from "../support/failure";

const team = new DeviceTeam([0, 1, 2].map((i) => ({ device: openDevice("cpu", { threads: 1 }), label: `cpu:${i}` })));
const fault = (code: "driver" | "memory") =>
  new VdError({ code, where: "run", expected: "more", got: "less", hint: "Wait." });

describe("a team of devices", () => {
  test("works at once and gives results in the members' order", async () => {
    let running = 0;
    let most = 0;
    const results = await team.atOnce(async ({ index, label }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 10 - 4 * index));
      running--;
      return label;
    });
    expect(results).toEqual(["cpu:0", "cpu:1", "cpu:2"]);
    expect(most).toBe(3);
    expect(await team.atOnce(async ({ index }) => index, { count: 2 })).toEqual([0, 1]);
  });

  test("stops the others when one fails, waits for them, and names the one", async () => {
    const ended: string[] = [];
    const work = team.atOnce(async ({ index, label }, signal) => {
      if (index === 1) throw fault("driver");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => setTimeout(resolve, 5)));
      ended.push(label);
    });
    const error = await rejection(work);
    expect(ended).toEqual(["cpu:0", "cpu:2"]);
    expect([error.code, error.where]).toEqual(["driver", "cpu:1] [run"]);
    expect(error.hint).toBe("Wait. The other devices go on: leave cpu:1 (CPU) out.");
    expect((error.cause as VdError).where).toBe("run");
  });

  test("says only of a lost device that it can be left out", async () => {
    const work = team.atOnce(async () => {
      throw fault("memory");
    });
    expect((await rejection(work)).hint).toBe("Wait.");
  });

  test("is stopped by its caller's signal, also before it begins", async () => {
    const body = async (_: unknown, signal: AbortSignal) => {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new VdError({ code: "cancelled", where: "run", expected: "an end", got: "an abort" });
    };
    for (const signal of [AbortSignal.timeout(5), AbortSignal.abort()]) {
      const error = await rejection(team.atOnce(body, { signal }));
      expect([error.code, error.where]).toEqual(["cancelled", "run"]);
    }
  });
});
