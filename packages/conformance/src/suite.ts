import {
  CPU_MATH,
  type Device,
  having,
  listOf,
  OBJECT,
  type OpId,
  openDevice,
  optional,
  requireArgument,
  requireFields,
  TEXT,
  type WantedFields,
} from "@vd/kernels-native";
import { CPU_FAST_PATHS } from "@vd/kernels-native/contract";

/** A device under test. */
export interface TestedDevice {
  /** Says in faults which device it was, e.g. `avx2`. */
  name: string;
  device: Device;
  /** Devices whose results must have the same bits, e.g. one with more threads; itself for a second run. Default: none. */
  sameBits?: readonly Device[];
  /** The ops that it is tested with. Default: all. */
  ops?: readonly OpId[];
}

/** Devices that are checked together: every case is made once and goes through all of them. */
export interface ConformanceSuite {
  devices: readonly TestedDevice[];
  /** A device whose results those of all others are compared with; it alone is compared with float64. Default: none, all
   *  are compared with float64. */
  baseline?: TestedDevice;
  /** Ops most of whose cases must be served by a fast path of every device under test: comparisons would mean nothing if
   *  the baseline's own code served them. Default: none. */
  fastOps?: readonly OpId[];
}

const DEVICE = having("a device, as openDevice gives it", ["kind", "name"]);
const SUITE: WantedFields = {
  devices: listOf(having("a device under test { name, device }", ["name", "device"])),
  baseline: optional(OBJECT),
  fastOps: optional(listOf(TEXT)),
};

/** Refuses what is no suite. @throws VdError `attr` */
export function requireSuite(where: string, suite: ConformanceSuite): void {
  requireFields(where, suite, SUITE);
}

/** CPU code paths below `best`, which is what the processor has, from narrow to wide. */
const INSTRUCTION_SETS = process.arch === "arm64" ? [] : ["plain", "avx2", "avx512"];
/** Of these, one and two threads must give the same bits. */
const THREADED: readonly string[] = ["plain", "best"];
/** Those of the devices that are tested with an op. */
export const testedWith = (op: OpId, devices: readonly TestedDevice[]): TestedDevice[] =>
  devices.filter(({ ops }) => ops?.includes(op) ?? true);

/** Returns the suite of one device: its results against float64, each case run twice with the same bits.
 *  @throws VdError `attr` for what is no device
 *  @example await runConformance(deviceSuite(openDevice("cuda"))); */
export function deviceSuite(device: Device): ConformanceSuite {
  requireArgument("deviceSuite", device, DEVICE);
  return { devices: [{ name: device.name, device, sameBits: [device] }] };
}

/** Returns the code paths that differ on this processor: one that is the best, or wider, would be tested twice. */
function instructionSets(): string[] {
  const best = INSTRUCTION_SETS.indexOf(openDevice("cpu", { isa: "best" }).isa!);
  return [...(best === -1 ? INSTRUCTION_SETS : INSTRUCTION_SETS.slice(0, best)), "best"];
}

/** Ops whose products the CPU takes as `Device.math` says. */
export const MATRIX_OPS: readonly OpId[] = [
  ...(["attention", "conv", "conv_winograd", "group_norm_conv", "layer_norm_linear", "linear"] as const),
];

/** Products that are not exact, and the code for AMX where the processor has AVX-512 without it: then its tiles are emulated. */
function matrixDevices(): TestedDevice[] {
  const best = openDevice("cpu").isa;
  if (best !== "amx" && best !== "avx512") return [];
  const isa = best === "amx" ? best : "amx-emulated";
  return CPU_MATH.filter((math) => math !== "exact" || isa !== best).map((math) => ({
    ...{ name: `${isa}, ${math}`, ops: MATRIX_OPS },
    device: openDevice("cpu", { isa, math, threads: 1 }),
    sameBits: [openDevice("cpu", { isa, math, threads: 2 })],
  }));
}

/** Returns the suite of this processor: the definitions against float64, the code of every instruction set against the
 *  definitions, and one thread against two; products that are not exact by tolerances of their own.
 *  @example await runConformance(cpuSuite(), { ops: ["linear"] }); */
export function cpuSuite(): ConformanceSuite {
  const devices = instructionSets().map((isa) => ({
    name: isa,
    device: openDevice("cpu", { isa, math: "exact", threads: 1 }),
    sameBits: THREADED.includes(isa) ? [openDevice("cpu", { isa, math: "exact", threads: 2 })] : [],
  }));
  const baseline = { name: "definitions", device: openDevice("cpu", { reference: true, threads: 2 }) };
  return { devices: [...devices, ...matrixDevices()], baseline, fastOps: CPU_FAST_PATHS };
}
