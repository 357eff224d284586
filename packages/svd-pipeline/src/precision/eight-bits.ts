import { createHash } from "node:crypto";
import { type Device, devices, OBJECT, requireFields, VdError } from "@vd/kernels-native";
import { QuantizedWeights } from "@vd/tensor";
import { isFp8Available, isHopper, type KnownDevices } from "@vd/vae-opt";
import type { ChosenDenoiser } from "../denoising/denoiser";
import type { ModelComponents } from "../opening/components";
import { modelDigest } from "../opening/model-digest";
import type { CheckedLoad } from "../options/check-load";
import { type CalibrationTable, findCalibration, sameLoras } from "./calibration/table";
import type { EightBitModel } from "./eight-bit-recorder";
import { type EightBitPrecision, PRECISION_PLANS, type PrecisionPlan } from "./layer-kinds";
import { Smoothing } from "./layer-scales";

/** What computes layers in 8 bits. */
export interface EightBits {
  model: EightBitModel;
  /** How the decoder computes convolutions. */
  decoder: "fp8" | undefined;
  /** What decides the bits, as a text. */
  digest: string;
  /** What a caller may want to know, as sentences. */
  warnings: readonly string[];
}

/** What decides which layers are computed in 8 bits. */
export interface EightBitsRequest {
  components: ModelComponents;
  layers: Pick<CheckedLoad["layers"], "precision" | "calibration">;
  device: Device;
  denoiser: ChosenDenoiser | undefined;
}

/** What a device computes, and what there is to say about that. */
interface DevicePlan extends Pick<EightBitModel, "plan" | "choosesTypes"> {
  notes: string[];
}

/** The plan with integers in place of floats. */
const inIntegers = (plan: PrecisionPlan): PrecisionPlan =>
  Object.fromEntries(
    Object.entries(plan).map(([kind, type]) => [kind, type === "full" ? type : "i8"]),
  ) as unknown as PrecisionPlan;

/**
 * Finds the plan that a device computes: elsewhere than on Hopper attention stays, because its form in 8 bits is slow there.
 *
 * @param known - the machine's devices
 * @throws VdError `unsupported` for floats on a device without products of them
 */
export function planOf(
  precision: EightBitPrecision,
  device: Device,
  known: KnownDevices = device.kind === "cpu" ? [] : devices(),
): DevicePlan {
  const wanted = PRECISION_PLANS[precision];
  const plan = isHopper(device, known) ? wanted : { ...wanted, attention: "full" as const };
  const choosesTypes = precision === "mixed8";
  if (device.kind === "cpu")
    return {
      ...{ plan, choosesTypes },
      notes: [
        `precision ${precision}: the CPU multiplies integers of 8 bits faster than float32, and float8 as float32, which gains no time.`,
      ],
    };
  const { available, reason } = isFp8Available(device);
  if (available || precision === "int8") return { plan, choosesTypes, notes: [] };
  if (precision === "mixed8") {
    const notes = [`precision mixed8: ${reason} All layers in 8 bits are computed in integers.`];
    return { plan: inIntegers(plan), choosesTypes: false, notes };
  }
  throw new VdError({
    code: "unsupported",
    where: "precision",
    expected: "a device with products of 8-bit floats",
    got: reason,
    hint: "Use int8.",
  });
}

function refuseElsewhere({ denoiser, layers }: EightBitsRequest): void {
  if (denoiser?.kind !== "elsewhere") return;
  throw new VdError({
    code: "unsupported",
    where: "precision",
    expected: "full beside a denoiser that runs elsewhere",
    got: `${layers.precision} beside ${denoiser.factory.name}`,
    hint: "Leave out one of them: layers are computed in 8 bits by this package's own kernels.",
  });
}

/** What there is to say about a table, or about none. */
function tableNotes(precision: string, table: CalibrationTable | undefined, isOfLoras: boolean): string[] {
  if (!table)
    return [
      `precision ${precision}: there is no calibration table, so scales follow from weights or are found at run time, which takes a pass over memory each, and nothing is smoothed. vd-generate calibrate makes one.`,
    ];
  if (isOfLoras) return [];
  return [
    "calibration: the table was made with other LoRAs than are merged now. Its smoothing is used, and scales are found at run time.",
  ];
}

function digestOf(precision: string, plan: PrecisionPlan, table: CalibrationTable | undefined): string {
  const layers = table && [...table.layers].map(([name, types]) => [name, types]);
  const text = JSON.stringify([plan, layers]);
  return `${precision} ${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
}

/**
 * Finds out which layers are computed in 8 bits and what is known of them; undefined for none.
 *
 * @throws VdError `unsupported` for what does not go together, `weights` for a table of another model, `io` for one that is not there
 */
export async function openEightBits(request: EightBitsRequest): Promise<EightBits | undefined> {
  requireFields("openEightBits", request, { components: OBJECT, layers: OBJECT, device: OBJECT });
  const { components, layers, device, denoiser } = request;
  const { precision, calibration } = layers;
  if (precision === "full") return undefined;
  refuseElsewhere(request);
  const { notes, ...planned } = planOf(precision, denoiser?.kind === "own" ? denoiser.device : device);
  const table = await findCalibration(components.source, await modelDigest(components), calibration);
  const isOfLoras = table !== undefined && sameLoras(table.loras, components.loras ?? []);
  const scales = table?.layers ?? new Map<string, never>();
  return {
    model: {
      ...{ ...planned, scales, usesStaticScales: isOfLoras, codesFrom: "producers" },
      ...{ smoothing: new Smoothing(scales), weights: new QuantizedWeights() },
    },
    decoder: precision === "fp8" ? "fp8" : undefined,
    digest: digestOf(precision, planned.plan, table),
    warnings: [...notes, ...tableNotes(precision, table, isOfLoras)],
  };
}
