import { Device, VdError } from "@vd/kernels-native";
import { afterEach, describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { createLiveSession, createLiveSessions } from "../../src/index";
import { readFrames, TINY_LIVE } from "../support/tiny-live";

const COMMON = { model: TINY_LIVE, pace: "reader" } as const;
const SEEDS = [1, 2, 3];

afterEach(() => vi.restoreAllMocks());

describe("sessions over two devices", () => {
  it("go round, and each gives the frames that it gives alone", async () => {
    const opened = new Map<Device, number>();
    const compile = Device.prototype.compile;
    vi.spyOn(Device.prototype, "compile").mockImplementation(function (this: Device, ...args) {
      opened.set(this, (opened.get(this) ?? 0) + 1);
      return compile.apply(this, args);
    });
    const sessions = await createLiveSessions(
      SEEDS.map((seed) => ({ ...COMMON, seed })),
      { devices: ["cpu", "cpu"], threads: 2 },
    );
    expect([...opened.values()].sort()).toEqual([1, 2]);
    expect([...opened.keys()].map(({ threads }) => threads)).toEqual([1, 1]);
    const together = await Promise.all(sessions.map((session) => readFrames(session, 3)));
    await Promise.all(sessions.map((session) => session.close()));
    const alone = await createLiveSession({ ...COMMON, seed: 2, threads: 1 });
    const frames = await readFrames(alone, 3);
    await alone.close();
    expect(together[1]!.map(({ data }) => data)).toEqual(frames.map(({ data }) => data));
    expect(together[0]!.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(Buffer.compare(together[0]![0]!.data, together[2]![0]!.data)).not.toBe(0);
  });

  it("on a device that is lost end, and those on the other go on", async () => {
    const compile = Device.prototype.compile;
    const devices: Device[] = [];
    let runs = 0;
    vi.spyOn(Device.prototype, "compile").mockImplementation(async function (this: Device, ...args) {
      if (!devices.includes(this)) devices.push(this);
      const program = await compile.apply(this, args);
      const run = program.run.bind(program);
      program.run = async (options) => {
        if (this === devices[1] && ++runs > 1)
          throw new VdError({ code: "driver", where: "frame", expected: "a working device", got: "one that was lost" });
        return run(options);
      };
      return program;
    });
    const sessions = await createLiveSessions([COMMON, COMMON], { devices: ["cpu", "cpu"], threads: 2 });
    const outcomes = await Promise.allSettled(sessions.map((session) => readFrames(session, 4)));
    const codes = outcomes.map((each) =>
      each.status === "fulfilled" ? each.value.length : (each.reason as VdError).code,
    );
    expect(codes.sort()).toEqual([4, "driver"]);
    await Promise.all(sessions.map((session) => session.close()));
  });

  it("are refused where a device or an option is wrong, and leave nothing open", async () => {
    expect((await failureOf(createLiveSessions([COMMON], { devices: [] }))).where).toBe("devices");
    expect((await failureOf(createLiveSessions([COMMON], undefined as never))).where).toBe("devices");
    expect((await failureOf(createLiveSessions({} as never, { devices: ["cpu"] }))).where).toBe("sessions");
    const wrong = createLiveSessions([COMMON, { ...COMMON, fps: -1 }], { devices: ["cpu", "cpu"], threads: 2 });
    expect((await failureOf(wrong)).where).toBe("cpu:1] [session] [fps");
    const error = await failureOf(createLiveSession({ ...COMMON, device: "gpu" as "cpu" }));
    expect(error.where).toBe("session] [device");
  });
});
