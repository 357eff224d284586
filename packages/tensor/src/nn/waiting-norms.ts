import { FUNCTION, type OpId, oneOfThese, requireArgument, VdError } from "@vd/kernels-native";
import type { RecordCall, RewriteCall } from "../graph";
import type { ConvOptions } from "../graph-ops.generated";
import type { CallOptions, Storage, Tensor } from "../tensor";
import { emptyTensor } from "./quantized-calls";

/** Which norms wait. */
export type NormOp = (typeof NORM_OPS)[number];

const NORM_OPS = ["group_norm", "layer_norm"] as const;

/** A norm that was called, and nobody has asked for its result. */
export interface WaitingNorm {
  call: CallOptions & { x: Tensor; x2?: Tensor; weight: Tensor; bias: Tensor; act?: string };
  record: RecordCall;
}

interface Waiting extends WaitingNorm {
  result: Tensor;
}

const isTensor = (value: unknown): value is Tensor => typeof value === "object" && value !== null && "storage" in value;
const storagesOf = (call: CallOptions): Storage[] =>
  Object.values(call)
    .filter(isTensor)
    .map(({ storage }) => storage);

/**
 * Norms whose results nobody has asked for yet. Such a norm is recorded when its result is used: by a product that takes it over and
 * computes it in its own way, or in its own type for anything else.
 */
export class WaitingNorms {
  private readonly waiting = new Map<Storage, Waiting>();
  /** Results of norms that a product took over. */
  private readonly taken = new WeakSet<Storage>();

  constructor(private readonly op: NormOp) {
    requireArgument("WaitingNorms", op, oneOfThese(NORM_OPS));
  }

  /** Puts a norm aside; returns what will be its result. */
  put(options: CallOptions, record: RecordCall): Tensor {
    const call = options as WaitingNorm["call"];
    // A norm of channel groups may have two sources.
    const dims = this.op === "layer_norm" ? call.x.dims : [...call.x.dims.slice(0, 4), call.weight.dims[0]!];
    const result = emptyTensor(dims, call.x.dtype);
    this.waiting.set(result.storage, { call, record, result });
    return result;
  }

  /** Records the norms that a call needs as they are: those it reads, and all of them where it writes to memory that is there. */
  recordBefore(call: CallOptions): void {
    const read = storagesOf(call);
    const writes = call.out !== undefined || call.outputs !== undefined;
    for (const storage of writes ? [...this.waiting.keys()] : read) this.recordPlain(storage);
    if (read.some((storage) => this.taken.has(storage))) {
      const expected = "a norm's result that is read by one product";
      throw new VdError({ code: "internal", where: `${call.name}`, expected, got: "one that a product took over" });
    }
  }

  /** Records all norms that wait. */
  finish(): void {
    for (const storage of [...this.waiting.keys()]) this.recordPlain(storage);
  }

  /** The norm whose whole result x is, if there is such a one that waits. */
  find(x: Tensor): WaitingNorm | undefined {
    const found = this.waiting.get(x.storage);
    return found && x.dims.every((size, i) => size === found.result.dims[i]) ? found : undefined;
  }

  /** Takes over the norm whose whole result x is, if there is such a one: nobody else may ask for that result. */
  take(x: Tensor): WaitingNorm | undefined {
    const found = this.find(x);
    if (!found) return undefined;
    this.waiting.delete(x.storage);
    this.taken.add(x.storage);
    return found;
  }

  private recordPlain(storage: Storage): void {
    const found = this.waiting.get(storage);
    if (!found) return;
    this.waiting.delete(storage);
    found.record(this.op, { ...found.call, out: found.result } as CallOptions);
  }
}

/** Records a convolution in its own way, with a norm that it takes over; undefined for one that stays as it is. */
export type TakeConvolution = (call: ConvOptions, norms: WaitingNorms, record: RecordCall) => Tensor | undefined;

/** Records a call in its own way, with a norm that it takes over; undefined for one that stays as it is. */
export type TakeProduct = (
  op: OpId,
  options: CallOptions,
  norms: WaitingNorms,
  record: RecordCall,
) => Tensor | undefined;

/**
 * Returns how calls are recorded where norms of channel groups wait for the convolutions behind them.
 *
 * takes: ways of recording a convolution, asked in turn until one records it; what none of them records stays as it is. One list for all,
 * since a norm that one rewriting has recorded waits for no other.
 */
export function withWaitingGroupNorms(...takes: readonly TakeConvolution[]): RewriteCall {
  for (const take of takes) requireArgument("withWaitingGroupNorms", take, FUNCTION);
  return withWaitingNorms("group_norm", (op, options, norms, record) => {
    if (op !== "conv") return undefined;
    for (const take of takes) {
      const taken = take(options as ConvOptions, norms, record);
      if (taken) return taken;
    }
    return undefined;
  });
}

/** Returns how calls are recorded where norms of one kind wait for the products behind them. */
export function withWaitingNorms(normOp: NormOp, take: TakeProduct): RewriteCall {
  requireArgument("withWaitingNorms normOp", normOp, oneOfThese(NORM_OPS));
  requireArgument("withWaitingNorms take", take, FUNCTION);
  // Each graph has a way to record of its own, and norms of its own that wait.
  const byGraph = new WeakMap<RecordCall, WaitingNorms>();
  const waitingIn = (record: RecordCall): WaitingNorms => {
    const norms = byGraph.get(record) ?? new WaitingNorms(normOp);
    byGraph.set(record, norms);
    return norms;
  };
  const rewrite: RewriteCall = (op, options, record) => {
    const norms = waitingIn(record);
    if (op === normOp && options.out === undefined) return norms.put(options, record);
    const taken = take(op, options, norms, record);
    if (taken) return taken;
    norms.recordBefore(options);
    return record(op, options);
  };
  rewrite.finish = (record) => byGraph.get(record)?.finish();
  return rewrite;
}
