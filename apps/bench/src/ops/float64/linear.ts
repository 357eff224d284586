import type { Plain } from "@vd/kernels-native/references";
import { chosen, indexOf, type Numbers, parts, picked, placeOf, wholeOf } from "./numbers";
import type { FullCall, SampledCall } from "./sampled-call";

/** Tokens, and columns of the result for each: 512 elements. */
const TOKENS = 32;
const COLUMNS = 16;

/** A linear layer of any kind, with a norm of its tokens or without, at some tokens and columns. Tokens become clips of one. */
export function sampleLinear({ label, attrs, operands, resultDims }: FullCall): SampledCall[] {
  const [b, f, s, k] = resultDims as [number, number, number, number];
  const places = chosen(`${label} tokens`, TOKENS, b * f * s).map((place) => indexOf(place, [b, f, s]));
  const columns = chosen(`${label} columns`, COLUMNS, k);
  // The rows of gates come behind all others.
  const rows = attrs.act === "geglu" || attrs.act === "swiglu" ? [...columns, ...columns.map((c) => c + k)] : columns;
  const perToken = (numbers: Numbers) => {
    const { dims, data } = parts(numbers, places);
    return { dims: [dims[0]!, 1, 1, dims[1]!], data };
  };
  const perResult = (numbers: Numbers) =>
    picked(numbers, [places.length, 1, 1, columns.length], ([i, , , c]) => [...places[i!]!, columns[c!]!]);
  const perRow = (numbers: Numbers) =>
    parts(
      numbers,
      rows.map((row) => [row]),
    );
  const frames = (numbers: Numbers) =>
    picked(numbers, [places.length, 1, rows.length], ([i, , row]) => [...places[i!]!.slice(0, 2), rows[row!]!]);
  const pick: Readonly<Record<string, (numbers: Numbers) => Plain>> = {
    ...{ x: perToken, x2: perToken, xScale: perToken, weight: perRow, weightScale: perRow, bias: perRow },
    ...{ frameBias: frames, residual: perResult, residual2: perResult },
    ...{ normWeight: wholeOf, normBias: wholeOf, normScale: wholeOf },
    yScale: (numbers) => parts(numbers, [[0]]),
  };
  const elements = places.flatMap((place, i) =>
    columns.map((column, c) => ({ from: i * columns.length + c, to: placeOf([...place, column], resultDims) })),
  );
  const own = Object.entries(operands).map(([name, numbers]) => [name, pick[name]!(numbers)] as const);
  return [{ operands: Object.fromEntries(own), elements }];
}
