import {
  FLAG,
  FLOATS_32,
  having,
  listOf,
  requireArgument,
  requireFields,
  VdError,
  type WantedFields,
  wholeFrom,
} from "@vd/kernels-native";
import type { DataBounds } from "./arithmetic/limiter";
import type { Values } from "./arithmetic/values";
import type { Sampler, SamplerState } from "./sampler";

/** A sampler's calls as matrices, so that a device can take its steps: one table per call, whatever the method. */
export interface LinearSteps {
  /** Tensors that calls hand on to the next one, H. */
  numHistory: number;
  /** The tables have a row and a column for the data prediction, D = 1, else 0. */
  hasData: boolean;
  /** What happens to the data prediction between its row and its column. */
  bounds: DataBounds | undefined;
  /** Per call [2 + H + D, 3 + H + D]: next sample, denoised, next history, data prediction from sample, prediction, noise,
   *  history, data. */
  tables: readonly Float32Array[];
}

const SAMPLER = having("a sampler, as createSampler makes it", ["step", "numModelCalls"]);
const STEPS: WantedFields = { numHistory: wholeFrom(0), hasData: FLAG, tables: listOf(FLOATS_32) };

/** Terms of every call in front of the history: sample, prediction, noise. */
const NUM_TERMS = 3;
/** Results in front of the history: next sample, denoised. */
const NUM_RESULTS = 2;
/** Unit vectors of two lengths: whatever clips or normalises treats them differently. Powers of two change no digits. */
const SCALES = [2 ** -6, 2 ** 12];
/** How far the answers to both may be apart, relative to the largest coefficient. */
const LINEAR_WITHIN = 1e-4;

const isValues = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && "data" in value && value.data instanceof Float32Array;

/** All latents inside a state, in a fixed order. */
function latentsIn(state: unknown): Float32Array[] {
  if (isValues(state)) return [state.data];
  if (typeof state !== "object" || state === null) return [];
  return Object.values(state).flatMap(latentsIn);
}

/** The state with the `next()` in place of each of its latents. */
function replaceLatents(state: unknown, next: () => Float32Array): unknown {
  if (isValues(state)) return { ...state, data: next() };
  if (Array.isArray(state)) return state.map((part) => replaceLatents(part, next));
  if (typeof state !== "object" || state === null) return state;
  return Object.fromEntries(Object.entries(state).map(([key, part]) => [key, replaceLatents(part, next)]));
}

/** One call's answer to unit vectors: coefficients per result and term, or undefined if it is not linear. */
interface Probe {
  rows: Float64Array[];
  state: SamplerState;
}

/** Coefficients from the answers to unit vectors of all lengths; undefined where those disagree. */
function coefficientsOf(answer: Float32Array, numTerms: number): Float64Array | undefined {
  const parts = SCALES.map((scale, s) =>
    Float64Array.from({ length: numTerms }, (_, k) => answer[s * numTerms + k]! / scale),
  );
  const [first, second] = parts as [Float64Array, Float64Array];
  const largest = first.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const agrees = first.every((value, k) => Math.abs(value - second[k]!) <= LINEAR_WITHIN * largest);
  return agrees ? first : undefined;
}

/** What a sampler's limiter is given, while it returns a term of its own. */
class LimiterProbe {
  private readonly given: Float32Array[] = [];

  constructor(private readonly answer: Float32Array) {}

  readonly limit = (data: Float32Array): Float32Array => {
    this.given.push(data);
    return this.answer;
  };

  /** What it was given, if it was asked once. */
  get data(): Float32Array | undefined {
    return this.given.length === 1 ? this.given[0] : undefined;
  }
}

function probe(sampler: Sampler, call: number, state: SamplerState | undefined): Probe | undefined {
  const numTerms = NUM_TERMS + latentsIn(state).length + (sampler.bounds ? 1 : 0);
  let term = 0;
  const unit = () => {
    const at = term++;
    return Float32Array.from({ length: SCALES.length * numTerms }, (_, i) =>
      i % numTerms === at ? SCALES[Math.floor(i / numTerms)]! : 0,
    );
  };
  const [x, modelOutput, noise] = [unit(), unit(), unit()];
  const given = replaceLatents(state, unit) as SamplerState | undefined;
  const limiter = sampler.bounds && new LimiterProbe(unit());
  const result = sampler.step(call, { x, modelOutput, noise, state: given, limit: limiter?.limit });
  const answers = [result.x, result.denoised, ...latentsIn(result.state), ...(limiter ? [limiter.data] : [])];
  const rows = answers.map((answer) => answer && coefficientsOf(answer, numTerms));
  return rows.every((row) => row !== undefined) ? { rows, state: result.state } : undefined;
}

/** Fits a call's coefficients into a table with room for all of the history; missing parts stay zero. */
function tableOf(rows: readonly Float64Array[], numHistory: number, hasData: boolean): Float32Array {
  const [width, height] = [NUM_TERMS + numHistory + Number(hasData), NUM_RESULTS + numHistory + Number(hasData)];
  const table = new Float32Array(height * width);
  rows.forEach((row, r) => {
    const isData = hasData && r === rows.length - 1;
    const at = (isData ? height - 1 : r) * width;
    table.set(hasData ? row.subarray(0, -1) : row, at);
    if (hasData) table[at + width - 1] = row.at(-1)!;
  });
  return table;
}

/** The calls of a sampler as matrices. They are found by asking: each call is given unit vectors, element by element, so
 *  a new sampler needs nothing for it. A sampler with bounds is linear before and after it applies them. Undefined for one
 *  that is not linear otherwise, that thresholds parts of the latents on their own, or keeps more than `mostHistory`
 *  tensors. sampler: one of dtype float32, else the coefficients are rounded.
 *  @throws VdError `attr` for what is no sampler */
export function linearSteps(sampler: Sampler, mostHistory = 8): LinearSteps | undefined {
  requireArgument("linearSteps", sampler, SAMPLER);
  const { bounds } = sampler;
  if (bounds?.kind === "threshold" && bounds.batch !== 1) return undefined;
  const probes: Probe[] = [];
  let state: SamplerState | undefined;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const found = probe(sampler, call, state);
    if (!found) return undefined;
    probes.push(found);
    state = found.state;
  }
  const numFixed = NUM_RESULTS + (bounds ? 1 : 0);
  const numHistory = Math.max(0, ...probes.map(({ rows }) => rows.length - numFixed));
  if (numHistory > mostHistory) return undefined;
  const tables = probes.map(({ rows }) => tableOf(rows, numHistory, bounds !== undefined));
  return { numHistory, hasData: bounds !== undefined, bounds, tables };
}

/** The table of a call in terms of its data prediction: the model's output enters through it alone. */
function withData(table: Float32Array, numHistory: number): Float32Array {
  const [width, height] = [NUM_TERMS + numHistory, NUM_RESULTS + numHistory];
  const denoised = table.subarray(width, 2 * width);
  const rows = Array.from({ length: height }, (_, r) => {
    const row = Float64Array.from(table.subarray(r * width, (r + 1) * width));
    const share = row[1]! / denoised[1]!;
    return Float64Array.from([...row.map((value, k) => (k === 1 ? 0 : value - share * denoised[k]!)), share]);
  });
  return tableOf([...rows, Float64Array.from([...denoised, 0])], numHistory, true);
}

/** Checks that every call's data prediction depends on the model's output. Throws `attr`. */
function requireOutput({ numHistory, tables }: LinearSteps, where: string): void {
  const blind = tables.findIndex((table) => table[NUM_TERMS + numHistory + 1] === 0);
  if (blind < 0) return;
  const expected = "a data prediction that depends on the model's output";
  throw new VdError({ code: "attr", where: `${where} call ${blind}`, expected, got: "one that does not" });
}

/**
 * Returns the same steps with a row and a column for the data prediction, so that it can be changed between the two, as by a
 * blend with earlier latents: what the model said is then what the changed prediction means. Steps that have them already
 * stay as they are.
 *
 * @throws VdError `attr` for what are no steps, and for a call whose data prediction does not depend on the model's output
 */
export function withDataColumn(steps: LinearSteps): LinearSteps {
  requireFields("withDataColumn", steps, STEPS);
  if (steps.hasData) return steps;
  const { numHistory, tables } = steps;
  requireOutput(steps, "withDataColumn");
  return { ...steps, hasData: true, tables: tables.map((table) => withData(table, numHistory)) };
}

/** The table of a call whose second term is the denoised latents, not the model's output. */
function fromDenoised(table: Float32Array, numHistory: number): Float32Array {
  const width = NUM_TERMS + numHistory;
  const denoised = table.subarray(width, 2 * width);
  return table.map((value, at) => {
    const [row, column] = [Math.floor(at / width), at % width];
    const share = table[row * width + 1]! / denoised[1]!;
    return column === 1 ? share : value - share * denoised[column]!;
  });
}

/**
 * Returns the same steps for denoised latents in place of the model's output: what the model would have to say for its data
 * prediction to be those. So a call of the model can be left out and the last data prediction used again.
 *
 * @throws VdError `unsupported` for a sampler with bounds, `attr` for what are no steps, and for a call whose data prediction does
 *   not depend on the model's output
 */
export function stepsFromDenoised(steps: LinearSteps): LinearSteps {
  requireFields("stepsFromDenoised", steps, STEPS);
  if (steps.hasData)
    throw new VdError({
      code: "unsupported",
      where: "stepsFromDenoised",
      expected: "a sampler that does not bound its data prediction",
      got: `one that bounds it (${steps.bounds?.kind ?? "data column"})`,
    });
  requireOutput(steps, "stepsFromDenoised");
  return { ...steps, tables: steps.tables.map((table) => fromDenoised(table, steps.numHistory)) };
}
