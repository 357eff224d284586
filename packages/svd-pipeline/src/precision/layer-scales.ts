import type { ChangeRow, QuantizedType } from "@vd/tensor";

/** What calibration found out about a layer. */
export interface LayerScales {
  /** The largest magnitude of what it takes, after smoothing. */
  largest: number;
  /** Of each channel of what it takes: the channel is divided by two to this power, and the weight's column multiplied by it. Powers of
   *  two lose no bit. Undefined where smoothing does not help. */
  exponents?: Int8Array | undefined;
  /** Of the layer's results on the pictures of the calibration: mean squared difference from the exact ones over their mean square. */
  error: number;
}

/** What is known of layers, by their names and the type that they are computed in. */
export type ScaleTable = ReadonlyMap<string, Readonly<Partial<Record<QuantizedType, LayerScales>>>>;

/** Channels that are divided, and what for: the same text for the same division. */
export interface Fold {
  key: string;
  exponents: Int8Array;
}

const power = (exponents: Int8Array, i: number) => 2 ** exponents[i]!;

/** Divides the rows of what a fold begins with: rows behind those, such as the gates of GEGLU, stay. */
function divideRows({ exponents }: Fold): ChangeRow {
  return (numbers, row) => {
    if (row >= exponents.length) return;
    const factor = 1 / power(exponents, row);
    for (let i = 0; i < numbers.length; i++) numbers[i]! *= factor;
  };
}

/** Multiplies the columns of a weight [N,C]. */
function multiplyColumns(exponents: Int8Array): ChangeRow {
  const factors = Float32Array.from(exponents, (_, i) => power(exponents, i));
  return (numbers) => {
    for (let i = 0; i < numbers.length; i++) numbers[i]! *= factors[i]!;
  };
}

/** How weights change by smoothing; each change is one function, however often it is asked for. */
export class Smoothing {
  private readonly known = new Map<string, ChangeRow>();

  constructor(private readonly table: ScaleTable) {}

  /** Returns what a layer's producer is to be divided by; undefined without smoothing. */
  foldOf(layer: string, type: QuantizedType): Fold | undefined {
    const exponents = this.table.get(layer)?.[type]?.exponents;
    return exponents && { key: `${layer} ${type}`, exponents };
  }

  /** Returns how rows are divided. */
  rows(fold: Fold): ChangeRow {
    return this.keep(`rows ${fold.key}`, () => divideRows(fold));
  }

  /** Returns how a layer's weight changes: its columns by its own smoothing, its rows by that of the layer behind it. */
  weight(own: Fold | undefined, behind: Fold | undefined): ChangeRow | undefined {
    const columns = own && this.keep(`columns ${own.key}`, () => multiplyColumns(own.exponents));
    const rows = behind && this.rows(behind);
    if (!columns || !rows) return columns ?? rows;
    return this.keep(`columns ${own.key} rows ${behind.key}`, () => (numbers, row) => {
      columns(numbers, row);
      rows(numbers, row);
    });
  }

  private keep(key: string, make: () => ChangeRow): ChangeRow {
    const change = this.known.get(key) ?? make();
    this.known.set(key, change);
    return change;
  }
}
