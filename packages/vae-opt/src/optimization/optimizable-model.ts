import { type Device, requireArgument, VdError } from "@vd/kernels-native";
import type { GraphLayout, Tuning } from "@vd/tensor";
import { OPEN_DEVICE } from "../wanted";
import { isFp8Available } from "./fp8";
import { isHopper } from "./hopper";
import { checkPrecision, type OptimizationSwitches, PLAIN, type VaePrecision } from "./switches";
import { TuningCache, type TuningCacheOptions } from "./tuning-cache";

/** What to turn on. What is left out is turned on where it applies; `false` leaves it off. */
export interface OptimizationOptions extends TuningCacheOptions {
  /** Kernel variants that are measured on this card, once for each shape, with at most 256 MiB of working memory each. */
  autotune?: boolean | undefined;
  /** Group norms apply the SiLU behind them. */
  fusedSilu?: boolean | undefined;
  /** Convolutions read the small map where nearest-2× upsampling comes before them. */
  fusedUpsample?: boolean | undefined;
  /** 3x3 convolutions of large 16-bit maps normalise channel groups by themselves, on a Hopper GPU. */
  fusedNorm?: boolean | undefined;
  /** 3x3 convolutions of float16 maps use Winograd's transforms where that is faster. Default false: they cost accuracy, and memory for
   *  their filters. */
  winograd?: boolean | undefined;
  /** Latents are drawn on the device. */
  fusedReparameterization?: boolean | undefined;
  /** Channels-last activations: kernels of this project have no other. */
  channelsLast?: boolean | undefined;
  /** Type of activations, or false for float32. Default: float16 on a GPU. */
  mixedPrecision?: VaePrecision | false | undefined;
  /** 8-bit matrix products. Default false: they cost accuracy. */
  fp8?: boolean | undefined;
}

/** What became of one optimisation. `on`: turned on now; `always`: there is no other way here; `off`: not asked for;
 *  `skipped`: asked for, and it does not apply here. */
export interface OptimizationChange {
  name:
    | "autotune"
    | "fusedSilu"
    | "fusedUpsample"
    | "fusedNorm"
    | "winograd"
    | "fusedReparameterization"
    | "channelsLast"
    | "mixedPrecision"
    | "fp8";
  state: "on" | "always" | "off" | "skipped";
  /** A sentence. */
  reason: string;
}

/** What an optimisation call changed. */
export interface OptimizationReport {
  /** `Windows` or not, Blackwell or not: what the machine is, as far as it decides. */
  platform: string;
  changes: readonly OptimizationChange[];
}

/** A model whose optimisations can be turned on and off. */
export interface Optimizable {
  /** Turns optimisations on that apply here, and returns the model. */
  enableWindowsBlackwellOptimizations(options?: OptimizationOptions): this;
  /** Goes back to the plain path, and returns the model. */
  disableOptimizations(): this;
  /** What the last call changed. */
  readonly optimizationReport: OptimizationReport;
  /** What is on now. */
  readonly optimizations: OptimizationSwitches;
}

const change = (
  name: OptimizationChange["name"],
  state: OptimizationChange["state"],
  reason: string,
): OptimizationChange => ({ name, state, reason });

const FUSIONS = {
  fusedSilu: "Group norms apply the SiLU behind them in the same pass over memory.",
  fusedUpsample: "Convolutions read the small map; nearest-2× upsampling is no op of its own.",
  fusedReparameterization: "mean + deviation · noise is computed on the device.",
} as const;

function fusionChanges(options: OptimizationOptions): OptimizationChange[] {
  return (Object.keys(FUSIONS) as (keyof typeof FUSIONS)[]).map((name) =>
    options[name] === false ? change(name, "off", "Not asked for.") : change(name, "on", FUSIONS[name]),
  );
}

function autotuneChange({ kind, name }: Device, { autotune }: OptimizationOptions): OptimizationChange {
  if (autotune === false) return change("autotune", "off", "Not asked for.");
  if (kind === "cpu")
    return change("autotune", "skipped", "The CPU has one kernel for each op; there is nothing to choose.");
  return change("autotune", "on", `Variants are measured on ${name} when a shape runs for the first time, and kept.`);
}

function precisionChange({ kind }: Device, precision: VaePrecision): OptimizationChange {
  if (precision === "float32") return change("mixedPrecision", "off", "Activations are float32.");
  if (kind === "cpu")
    return change("mixedPrecision", "skipped", "The CPU computes activations in float32; weights may be 16-bit.");
  return change("mixedPrecision", "on", `Activations are ${precision}; sums and statistics are float32.`);
}

function fp8Change(device: Device, { fp8 = false }: OptimizationOptions): OptimizationChange {
  if (!fp8) return change("fp8", "off", "Not asked for: it costs accuracy.");
  const { available, reason } = isFp8Available(device);
  return change("fp8", available ? "on" : "skipped", reason);
}

function winogradChange(
  { kind }: Device,
  { winograd = false }: OptimizationOptions,
  precision: VaePrecision,
): OptimizationChange {
  if (!winograd) return change("winograd", "off", "Not asked for: it costs accuracy, and memory for its filters.");
  if (kind === "cpu")
    return change("winograd", "skipped", "The CPU's convolutions choose their transforms by themselves.");
  if (precision !== "float16") return change("winograd", "skipped", "The transforms are for float16 activations.");
  return change(
    "winograd",
    "on",
    "3x3 convolutions of many channels multiply transformed tiles, a quarter of the products.",
  );
}

function fusedNormChange(
  device: Device,
  { fusedNorm }: OptimizationOptions,
  precision: VaePrecision,
): OptimizationChange {
  if (fusedNorm === false) return change("fusedNorm", "off", "Not asked for.");
  if (!isHopper(device))
    return change("fusedNorm", "skipped", `${device.name} has no kernels for it; a Hopper GPU has.`);
  if (precision === "float32") return change("fusedNorm", "skipped", "The kernels are for 16-bit activations.");
  return change("fusedNorm", "on", "Convolutions of large maps normalise channel groups in shared memory.");
}

function channelsLastChange({ channelsLast = true }: OptimizationOptions): OptimizationChange {
  const reason = "Every kernel here reads and writes channels-last activations";
  return change("channelsLast", "always", channelsLast ? `${reason}.` : `${reason}; there is no other path to choose.`);
}

const BLACKWELL = /\b(?:B100|B200|B300|GB200|GB300|RTX (?:PRO \d{4} Blackwell|50\d0))/i;

/** What decides which of the name's two words apply: the optimisations are the same everywhere. */
function platformText({ kind, name }: Device): string {
  const system = process.platform === "win32" ? "Windows" : `${process.platform}, not Windows`;
  const card = kind === "cpu" ? "a CPU" : BLACKWELL.test(name) ? `${name}, a Blackwell` : `${name}, not a Blackwell`;
  return `${system}; ${card}. Nothing here needs either: what applies is turned on.`;
}

/** Checks options that are switches. @throws VdError `attr` */
function checkOptions(options: OptimizationOptions): void {
  const switches = [
    "autotune",
    "fusedSilu",
    "fusedUpsample",
    "fusedNorm",
    "winograd",
    "fusedReparameterization",
    "channelsLast",
    "fp8",
  ] as const;
  const others = ["mixedPrecision", "folder", "onProgress"];
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new VdError({
      code: "attr",
      where: "optimizations",
      expected: "an object of switches",
      got: String(options),
    });
  const { folder, onProgress } = options;
  const expectType = (name: string, value: unknown, type: string) => {
    if (value !== undefined && typeof value !== type)
      throw new VdError({ code: "attr", where: name, expected: `a ${type}`, got: String(value) });
  };
  expectType("folder", folder, "string");
  expectType("onProgress", onProgress, "function");
  for (const [name, value] of Object.entries(options)) {
    const isSwitch = (switches as readonly string[]).includes(name);
    if (!isSwitch && !others.includes(name))
      throw new VdError({
        code: "attr",
        where: name,
        expected: `one of ${[...switches, ...others].join(", ")}`,
        got: "an unknown switch",
      });
    if (isSwitch && value !== undefined && typeof value !== "boolean")
      throw new VdError({ code: "attr", where: name, expected: "true or false", got: String(value) });
  }
}

/** The switches of a model, and what turns them: a base class of models. */
export abstract class OptimizableModel implements Optimizable {
  private switches: OptimizationSwitches = PLAIN;
  private report: OptimizationReport;
  private tuning: TuningCache | undefined;
  private readonly scopes: { readonly precision: VaePrecision }[] = [];

  /** @throws VdError `attr` for what is no open device */
  constructor(readonly device: Device) {
    requireArgument("OptimizableModel device", device, OPEN_DEVICE);
    this.report = { platform: platformText(device), changes: [] };
  }

  get optimizations(): OptimizationSwitches {
    return this.switches;
  }

  get optimizationReport(): OptimizationReport {
    return this.report;
  }

  enableWindowsBlackwellOptimizations(options: OptimizationOptions = {}): this {
    checkOptions(options);
    const { device } = this;
    const { mixedPrecision = device.kind === "cpu" ? false : "float16" } = options;
    const precision = mixedPrecision === false ? "float32" : checkPrecision("mixedPrecision", mixedPrecision);
    const changes = [
      autotuneChange(device, options),
      ...fusionChanges(options),
      channelsLastChange(options),
      precisionChange(device, precision),
      fusedNormChange(device, options, precision),
      winogradChange(device, options, precision),
      fp8Change(device, options),
    ];
    const isOn = (name: OptimizationChange["name"]) =>
      changes.some((each) => each.name === name && each.state === "on");
    this.switches = {
      autotune: isOn("autotune"),
      fusedSilu: isOn("fusedSilu"),
      fusedUpsample: isOn("fusedUpsample"),
      fusedNorm: isOn("fusedNorm"),
      winograd: isOn("winograd"),
      fusedReparameterization: isOn("fusedReparameterization"),
      precision: isOn("mixedPrecision") ? precision : "float32",
      fp8: isOn("fp8"),
    };
    this.tuning = this.switches.autotune ? new TuningCache(device, options) : undefined;
    this.report = { platform: platformText(device), changes };
    return this;
  }

  disableOptimizations(): this {
    const all = (Object.keys(PLAIN) as (keyof OptimizationSwitches)[]).map((name) =>
      name === "precision" ? "mixedPrecision" : name,
    );
    this.switches = PLAIN;
    this.tuning = undefined;
    const changes = all.map((name) => change(name, "off", "The plain path."));
    this.report = { platform: platformText(this.device), changes: [...changes, channelsLastChange({})] };
    return this;
  }

  /** Enters a scope in which activations have another type; the returned function leaves it. See configureAutocast. */
  enterPrecision(precision: VaePrecision): () => void {
    // An object of its own, so that scopes of one precision may close in any order, and each once.
    const scope = { precision };
    this.scopes.push(scope);
    return () => {
      const place = this.scopes.indexOf(scope);
      if (place >= 0) this.scopes.splice(place, 1);
    };
  }

  /** What is on for a call that begins now. */
  protected get active(): OptimizationSwitches {
    const scoped = this.device.kind === "cpu" ? undefined : this.scopes.at(-1);
    return scoped ? { ...this.switches, precision: scoped.precision } : this.switches;
  }

  /** What decides kernel variants: the measured table of this card, or the device's own choice. */
  protected async tuningFor(layout: GraphLayout, signal: AbortSignal | undefined): Promise<Tuning> {
    return (await this.tuning?.tableFor(layout, signal)) ?? (this.tuning ? undefined : false);
  }
}
