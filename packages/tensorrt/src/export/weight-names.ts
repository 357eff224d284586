import { countOf } from "@vd/kernels-native";
import { packedBytes, type Tensor } from "@vd/tensor";
import type { GraphWriter } from "../onnx/graph-writer";
import {
  CODE_TYPES,
  type CodeType,
  type OnnxCodeType,
  type WeightSource,
  type WeightType,
  weightSource,
} from "../onnx/weight-source";

/** Weights that the recording stacked into one operand, each under its own name. */
export interface StackedPart {
  /** In the checkpoint. */
  readonly name: string;
  /** Rows of the stack. */
  readonly begin: number;
  readonly end: number;
}

/** Gives weights their names in the checkpoint: rows are named after the weights that they use. */
export class WeightNames {
  constructor(
    private readonly writer: GraphWriter,
    private readonly type: WeightType,
  ) {}

  /** A weight as a constant of `dims`, named `name`. The same elements under the same name are one constant. */
  add(name: string, tensor: Tensor, dims: readonly number[] = tensor.dims): string {
    return this.constant(name, dims, weightSource(tensor, this.type, 0, countOf(tensor.dims)));
  }

  /** A weight in float32 whatever the model's type: scales of codes, and what is added to sums of them. */
  addWide(name: string, tensor: Tensor, dims: readonly number[] = tensor.dims): string {
    return this.constant(name, dims, weightSource(tensor, "float", 0, countOf(tensor.dims)), "float");
  }

  /** A weight in 8 bits as its codes, in a type of 8 bits. */
  addCodes(name: string, tensor: Tensor): string {
    const type = CODE_TYPES[tensor.dtype as CodeType];
    return this.constant(name, tensor.dims, weightSource(tensor, type, 0, countOf(tensor.dims)), type);
  }

  /** The weights that were stacked along the first dimension of `tensor`, or undefined if it is one of a checkpoint. */
  partsOf(tensor: Tensor, rowPath: string): readonly StackedPart[] | undefined {
    const names = tensor.storage.name.split("+");
    const isStack = names.length > 1 && tensor.byteOffset === 0;
    if (!isStack || tensor.storage.bytes !== packedBytes(tensor.dims, tensor.dtype)) return undefined;
    const numRows = tensor.dims[0]! / names.length;
    // The stack's names are those of the file, which may have a prefix in front of the checkpoint's own.
    const local = (full: string) => full.slice(Math.max(full.lastIndexOf(`${rowPath}.`), 0));
    return names.map((full, i) => ({ name: local(full), begin: i * numRows, end: (i + 1) * numRows }));
  }

  /** One of the stacked weights as a constant. */
  addPart(tensor: Tensor, { name, begin, end }: StackedPart): string {
    const perRow = countOf(tensor.dims.slice(1));
    const dims = [end - begin, ...tensor.dims.slice(1)];
    return this.constant(name, dims, weightSource(tensor, this.type, begin * perRow, end * perRow));
  }

  private constant(
    name: string,
    dims: readonly number[],
    source: WeightSource,
    type: WeightType | OnnxCodeType = this.type,
  ): string {
    const known = this.writer.initializers.get(name);
    const isSame =
      known?.type === type &&
      "place" in known.data &&
      known.data.place === source.place &&
      known.dims.join() === dims.join();
    // Another use of the name, such as a second shape of the same weight, gets a name of its own.
    if (known && !isSame) return this.constant(`${name}:${dims.join("x")}`, dims, source, type);
    return this.writer.constant(name, dims, type, source);
  }
}
