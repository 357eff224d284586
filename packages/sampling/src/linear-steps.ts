import type { Values } from "./arithmetic/values";
import type { Sampler, SamplerState } from "./sampler";

/** A sampler's calls as matrices, so that a device can take its steps: one table per call, whatever the method. */
export interface LinearSteps {
  /** Tensors that calls hand on to the next one, H. */
  numHistory: number;
  /** Per call [2 + H, 3 + H]: next sample, denoised, next history from sample, prediction, noise, history. */
  tables: readonly Float32Array[];
}

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

function probe(sampler: Sampler, call: number, state: SamplerState | undefined): Probe | undefined {
  const numTerms = NUM_TERMS + latentsIn(state).length;
  let term = 0;
  const unit = () => {
    const at = term++;
    return Float32Array.from({ length: SCALES.length * numTerms }, (_, i) =>
      i % numTerms === at ? SCALES[Math.floor(i / numTerms)]! : 0,
    );
  };
  const [x, modelOutput, noise] = [unit(), unit(), unit()];
  const given = replaceLatents(state, unit) as SamplerState | undefined;
  const result = sampler.step(call, { x, modelOutput, noise, state: given });
  const answers = [result.x, result.denoised, ...latentsIn(result.state)];
  const rows = answers.map((answer) => coefficientsOf(answer, numTerms));
  return rows.every((row) => row !== undefined) ? { rows, state: result.state } : undefined;
}

/** Fits a call's coefficients into a table with room for all of the history; missing parts stay zero. */
function tableOf(rows: readonly Float64Array[], numHistory: number): Float32Array {
  const width = NUM_TERMS + numHistory;
  const table = new Float32Array((NUM_RESULTS + numHistory) * width);
  rows.forEach((row, r) => {
    table.set(row, r * width);
  });
  return table;
}

/** The calls of a sampler as matrices. They are found by asking: each call is given unit vectors, element by element, so
 *  a new sampler needs nothing for it. Undefined for a sampler that is not linear, as with clipping or thresholding, or
 *  keeps more than `mostHistory` tensors. sampler: one of dtype float32, else the coefficients are rounded. */
export function linearSteps(sampler: Sampler, mostHistory = 8): LinearSteps | undefined {
  const probes: Probe[] = [];
  let state: SamplerState | undefined;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const found = probe(sampler, call, state);
    if (!found) return undefined;
    probes.push(found);
    state = found.state;
  }
  const numHistory = Math.max(0, ...probes.map(({ rows }) => rows.length - NUM_RESULTS));
  if (numHistory > mostHistory) return undefined;
  return { numHistory, tables: probes.map(({ rows }) => tableOf(rows, numHistory)) };
}
