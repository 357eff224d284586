import { type OpId, VdError } from "@vd/kernels-native";
import {
  type CallOptions,
  emptyTensor,
  normScale,
  type Quantized,
  type RecordCall,
  type Storage,
  type Tensor,
} from "@vd/tensor";

type NormCall = CallOptions & { x: Tensor; x2?: Tensor; weight: Tensor; bias: Tensor };

interface Waiting {
  call: NormCall;
  record: RecordCall;
  result: Tensor;
}

const isTensor = (value: unknown): value is Tensor => typeof value === "object" && value !== null && "storage" in value;
const storagesOf = (call: CallOptions): Storage[] =>
  Object.values(call)
    .filter(isTensor)
    .map(({ storage }) => storage);

/**
 * Norms of channel groups whose results nobody has asked for yet. Such a norm is recorded when its result is used: as codes by an
 * 8-bit convolution, in its own type by anything else.
 */
export class WaitingNorms {
  private readonly waiting = new Map<Storage, Waiting>();
  /** Results that were recorded as codes alone. */
  private readonly taken = new WeakSet<Storage>();

  /** Puts a norm aside; returns what will be its result. */
  put(call: CallOptions, record: RecordCall): Tensor {
    const norm = call as NormCall;
    const channels = norm.weight.dims[0]!;
    const result = emptyTensor([...norm.x.dims.slice(0, 4), channels], norm.x.dtype);
    this.waiting.set(result.storage, { call: norm, record, result });
    return result;
  }

  /** Records the norms that a call needs as they are: those it reads, and all of them where it writes to memory that is there. */
  recordBefore(call: CallOptions): void {
    const read = storagesOf(call);
    const writes = call.out !== undefined || call.outputs !== undefined;
    for (const storage of writes ? [...this.waiting.keys()] : read) this.recordPlain(storage);
    if (read.some((storage) => this.taken.has(storage))) {
      const expected = "a norm's result that is read by one convolution";
      throw new VdError({ code: "internal", where: `${call.name}`, expected, got: "one that is in 8 bits alone" });
    }
  }

  /** Records the norm whose whole result x is as codes, if there is such a one. */
  take(x: Tensor): Quantized | undefined {
    const found = this.waiting.get(x.storage);
    if (!found || x.dims.some((size, i) => size !== found.result.dims[i])) return undefined;
    this.waiting.delete(x.storage);
    this.taken.add(x.storage);
    const { out: _, ...call } = found.call;
    const scales = normScale(call.weight, call.bias);
    const options = { ...call, yScale: scales, out: emptyTensor(x.dims, "f8e4m3") } as CallOptions;
    return { codes: found.record("group_norm_q8" satisfies OpId, options), scales };
  }

  private recordPlain(storage: Storage): void {
    const found = this.waiting.get(storage);
    if (!found) return;
    this.waiting.delete(storage);
    found.record("group_norm", { ...found.call, out: found.result } as CallOptions);
  }
}
