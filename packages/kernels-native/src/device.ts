import { availableParallelism } from "node:os";
import type {
  DeviceMemory,
  NativeDevice,
  NativeGpu,
  NativeProgram,
  ProgramInfo,
  RejectedVariant,
  RunTimes,
} from "./addon-types";
import { requireOptions } from "./arguments";
import { allocateBuffer, type BufferCopy, DeviceBuffer, nativeCopy } from "./buffer";
import { environment } from "./env";
import { awaitNative, callNative, VdError } from "./errors";
import { imageDir, listGpus } from "./gpus";
import { joinedTexts } from "./joined-texts";
import { loadAddon } from "./load";

/** A checked list of rows, ready to run many times; one run at a time. */
export class Program {
  constructor(private readonly native: NativeProgram) {}

  get info(): ProgramInfo {
    return callNative(() => this.native.info);
  }

  /** Per row: the kernel variants that it could have, the device's own choice first; empty on the CPU. */
  get candidates(): string[][] {
    return callNative(() => this.native.candidates);
  }

  /** Per row: the kernel variants, or families of them, that it cannot have, and why; empty on the CPU, and unless the
   *  program was compiled with `explain`. */
  get rejected(): RejectedVariant[][] {
    return callNative(() => this.native.rejected);
  }

  /**
   * Makes `copies`, then runs all rows, off the event loop. On a GPU nothing waits for the host in between.
   *
   * @throws VdError `cancelled` after {@link cancel}, `layout` for copies outside of a buffer or to another device than the program's
   */
  run({
    timing = false,
    copies,
  }: {
    timing?: boolean;
    copies?: readonly BufferCopy[] | undefined;
  } = {}): Promise<RunTimes> {
    return awaitNative(() => this.native.run(timing, copies?.map(nativeCopy)));
  }

  /**
   * Does what {@link run} does without waiting for its end, where the device is a GPU: {@link wait} does. after: programs, of this or another device, whose
   * run that was queued last ends before this one begins.
   *
   * @throws VdError as {@link run}
   */
  queue({
    copies = [],
    after = [],
  }: {
    copies?: readonly BufferCopy[];
    after?: readonly Program[];
  } = {}): Promise<void> {
    const programs = after.map(({ native }) => native);
    return awaitNative(() => this.native.queue(copies.map(nativeCopy), programs));
  }

  /** Waits for the run that was queued last. @throws VdError what it failed with on the device */
  wait(): Promise<void> {
    return awaitNative(() => this.native.wait());
  }

  /** Makes the current run stop before its next row. */
  cancel(): void {
    callNative(() => this.native.cancel());
  }

  /** Frees the packed weights and working memory; a run under way finishes first. */
  freeSync(): void {
    callNative(() => this.native.freeSync());
  }

  /** Does what {@link freeSync} does, off the event loop. */
  free(): Promise<void> {
    return awaitNative(() => this.native.free());
  }
}

/** A memory that rows address by its position in the list of a program. */
export interface Binding {
  buffer: DeviceBuffer;
  /** The contents never change while the program lives, so that weights may be packed. */
  constant: boolean;
}

/** Every way in which the CPU multiplies float32 matrices, the default first. */
export const CPU_MATH = ["exact", "fast", "bf16"] as const;

/** How exactly the CPU takes products of float32 in linear layers, convolutions and attention: `exact`, as float32 has them; `fast`, three
 *  products of two bfloat16 parts an operand; `bf16`, one product of operands rounded to bfloat16. Sums are float32 in all. These are the
 *  precisions highest, high and medium of `torch.set_float32_matmul_precision`. */
export type CpuMath = (typeof CPU_MATH)[number];

/** How to open the CPU. */
export interface CpuOptions {
  /** Workers; default `VD_THREADS` or the number of available cores. */
  threads?: number | undefined;
  /** Instruction set: best (default), amx, avx512, avx2 or plain, on 64-bit Arm neon; one that the machine lacks falls back
   *  to the next. */
  isa?: string | undefined;
  /** How exactly products are taken; default exact. `fast` needs AMX, and `bf16` AMX or AVX512_BF16: elsewhere products
   *  are exact, and a warning says so. */
  math?: CpuMath | undefined;
  /** Run the plain definitions only. Slow; for tests. */
  reference?: boolean | undefined;
}

/** Which GPU to open. */
export interface GpuOptions {
  /** Its number among the machine's GPUs; default 0. */
  index?: number | undefined;
  /** Device code to run instead of the best; default `VD_CUDA_IMAGE`. */
  image?: string | undefined;
  /** Folder of the device code; default: the package's own. */
  imageDir?: string | undefined;
}

/** How to open any device: options of other kinds are ignored. */
export type DeviceOptions = CpuOptions & GpuOptions;

/** How a program is compiled. */
export interface CompileOptions {
  /** Record the rows as one CUDA graph when they are compiled, and replay it; then a run cannot be cancelled half-way. A run that measures its
   *  rows does not. */
  capture?: boolean | undefined;
  /** Per row: the kernel variant wanted. An empty text, or a name that the row cannot have here, leaves the choice to the
   *  device; so does an absent list. */
  variants?: readonly string[] | undefined;
  /** Per row: the device's own choice that the wanted variant replaces; where the device would choose another one by now, its choice
   *  stands. An empty text, or an absent list: whatever it is. */
  insteadOf?: readonly string[] | undefined;
  /** Also find out why rows cannot have other kernel variants; default false. */
  explain?: boolean | undefined;
  /** Each result's bits follow from what it is computed of alone, so that they stay when a batch or a clip is computed in other pieces.
   *  Otherwise a GPU cuts long sums into as many parts as keep it busy. The CPU always keeps the bits; default false. */
  batchInvariant?: boolean | undefined;
  /** Bytes of a GPU's memory through which weights pass, copied from page-locked host memory ahead of the rows that use them, for weights that
   *  need more than that; smaller ones stay on the device, as all do by default (0). At least two rows' weights fit in there, also where
   *  that is more. The CPU reads weights in place. */
  streamBytes?: number | undefined;
  /** A part of a GPU's memory for what the program has beside its buffers: its kernels' working memory, and filters' transforms. Nothing else may
   *  use it while the program lives. What has no room there, all by default, lies in memory of its own; transforms stay there for the next
   *  program. */
  space?: BufferRange | undefined;
  /** Where a GPU has several programs to run, the kernels of others wait for those of this one, as soon as their blocks leave room; default false.
   *  For a short program that something waits for. */
  goesFirst?: boolean | undefined;
}

/** A part of a buffer. */
export interface BufferRange {
  buffer: DeviceBuffer;
  byteOffset: number;
  bytes: number;
}

/** How memory is allocated. */
export interface AllocateOptions {
  /** false: a GPU's memory is handed out with whatever lies there, which saves the time of filling it. Default: true. */
  cleared?: boolean | undefined;
}

/** What a device lets go of. */
export interface TrimOptions {
  /** `transformed`: filters that take several times the memory of what they are made of. That stays on the device, and the next program
   *  that needs them makes them again from there, without the host. Default: all packed weights. */
  only?: "transformed" | undefined;
}

const NEEDED_FOR: Readonly<Record<string, string>> = { fast: "AMX", bf16: "AMX or AVX512_BF16" };
const warnedOf = new Set<string>();
/** As many as the addon takes. */
const MOST_THREADS = 1024;

/** Says once a process that the CPU has no faster way for `math`. */
function warnOfMath(math: string): void {
  if (warnedOf.has(math)) return;
  warnedOf.add(math);
  const isa = loadAddon().cpuIsa();
  process.emitWarning(
    `[cpuMath] expected a processor with ${NEEDED_FOR[math]} for ${math}, got ${isa}. Products are exact float32, as without the option.`,
    { code: "VD_PRODUCTS" },
  );
}

/** Says once a process, of each reason, that the driver does not compile kernels of plans. */
function warnOfRefusal({ name, reason }: RejectedVariant): void {
  if (warnedOf.has(reason)) return;
  warnedOf.add(reason);
  process.emitWarning(
    `[${name}] expected the NVIDIA driver to compile the kernel, got ${reason}. A slower kernel gives the result.`,
    { code: "VD_KERNELS" },
  );
}

/** Something that runs programs. */
export class Device {
  private static readonly gpus = new Map<string, Device>();

  private constructor(
    readonly kind: DeviceKind,
    private readonly native: NativeDevice,
    /** Workers, the calling one included; 1 for a GPU. */
    readonly threads: number,
    /** The GPU's name as its driver has it, or "CPU". */
    readonly name: string,
    /** The instruction set of the CPU's kernels, e.g. "avx512"; undefined for a GPU. Another one may give other last digits. */
    readonly isa?: string,
    /** How exactly the CPU takes products here, which is `exact` where the processor gains nothing by less; undefined for a GPU. */
    readonly math?: CpuMath,
  ) {}

  /**
   * Opens the CPU.
   *
   * @throws VdError `unsupported` without an addon, `attr` for a wrong option
   */
  static cpu(options: CpuOptions = {}): Device {
    requireOptions("openDevice", options);
    const threads = options.threads ?? environment.threads() ?? availableParallelism();
    if (!Number.isInteger(threads) || threads < 1 || threads > MOST_THREADS)
      throw new VdError({
        code: "attr",
        where: "openDevice threads",
        expected: `a whole number from 1 to ${MOST_THREADS}`,
        got: String(threads),
      });
    const isa = options.isa ?? environment.cpuIsa() ?? "best";
    const wanted = options.math ?? CPU_MATH[0];
    const reference = options.reference ?? false;
    const math = callNative(() => loadAddon().cpuMath(isa, wanted));
    if (math !== wanted && !reference) warnOfMath(wanted);
    return new Device(
      "cpu",
      callNative(() => loadAddon().openDevice({ threads, isa, math, reference })),
      threads,
      "CPU",
      isa === "best" ? loadAddon().cpuIsa() : isa,
      math,
    );
  }

  /**
   * A GPU, one object for each; its context opens with {@link prepare} or the first use.
   *
   * @throws VdError `unsupported` saying why it cannot be used
   */
  static cuda(options: GpuOptions = {}): Device {
    requireOptions("openDevice", options);
    const index = options.index ?? 0;
    const image = options.image ?? environment.cudaImage() ?? "";
    const dir = options.imageDir ?? imageDir();
    const { name } = usableGpu(index, dir);
    const key = `${index} ${image} ${dir}`;
    let device = Device.gpus.get(key);
    if (!device) {
      const native = callNative(() => loadAddon().openDevice({ index, imageDir: dir, image }));
      device = new Device("cuda", native, 1, name);
      Device.gpus.set(key, device);
    }
    return device;
  }

  /**
   * Opens what is opened late, off the event loop.
   *
   * @throws VdError `unsupported` or `driver`
   */
  async prepare(): Promise<void> {
    if (this.kind !== "cpu") await awaitNative(() => this.native.prepare());
  }

  /**
   * Zeroed memory that this device's rows may write.
   *
   * @throws VdError `memory`
   */
  async allocate(bytes: number, options: AllocateOptions = {}): Promise<DeviceBuffer> {
    requireOptions("allocate", options);
    if (this.kind === "cpu") return allocateBuffer(bytes);
    const { cleared = true } = options;
    return new DeviceBuffer(await awaitNative(() => this.native.allocate(bytes, cleared)), false);
  }

  /**
   * Zeroed host memory for bytes that leave a GPU and come back: page-locked, so that the GPU reads and writes it itself with
   * {@link DeviceBuffer.copyFrom}. It takes memory of the machine at once. Where the driver does not lock it, and on the CPU, it is as
   * that of {@link allocateBuffer}.
   *
   * @throws VdError `memory`, `driver`
   */
  async allocateHost(bytes: number): Promise<DeviceBuffer> {
    if (this.kind === "cpu") return allocateBuffer(bytes);
    return new DeviceBuffer(await awaitNative(() => this.native.allocateHost(bytes)));
  }

  /**
   * The memory that a GPU has, in bytes; zeros for the CPU, which uses the machine's.
   *
   * @throws VdError `driver`
   */
  memory(): Promise<DeviceMemory> {
    return awaitNative(() => this.native.memory());
  }

  /** Lets go of packed weights that no program uses, of all or of those that `only` names. */
  async trim({ only }: TrimOptions = {}): Promise<void> {
    if (this.kind !== "cpu") await awaitNative(() => this.native.trim(only === "transformed"));
  }

  /**
   * Checks the rows against the contract and packs weights, off the event loop. See native/core/validate.h for `words`.
   *
   * @throws VdError naming row and argument
   */
  async compile(
    words: Float64Array,
    names: readonly string[],
    bindings: readonly Binding[],
    {
      capture = false,
      variants,
      insteadOf,
      explain = false,
      batchInvariant = false,
      streamBytes = 0,
      space,
      goesFirst = false,
    }: CompileOptions = {},
  ): Promise<Program> {
    const buffers = bindings.map(({ buffer, constant }) => ({ buffer: buffer.native, constant }));
    const wanted = {
      ...(variants && { variants: joinedTexts("compile variants", variants) }),
      ...(insteadOf && { insteadOf: joinedTexts("compile insteadOf", insteadOf) }),
    };
    const rowNames = joinedTexts("compile names", names);
    const given = space && { space: { ...space, buffer: space.buffer.native } };
    const options = { capture, explain, batchInvariant, streamBytes, goesFirst, ...wanted, ...given };
    const program = await awaitNative(() => this.native.compile(words, rowNames, buffers, options));
    program.refused.forEach(warnOfRefusal);
    return new Program(program);
  }
}

/** Every kind of device. */
export const DEVICE_KINDS = ["cpu", "cuda"] as const;

/** One of {@link DEVICE_KINDS}. */
export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** What one device is, or why it cannot be used. */
export interface DeviceInfo {
  kind: DeviceKind;
  name: string;
  usable: boolean;
  /** Why not, or what it offers, as a sentence. */
  reason: string;
  /** Of usable GPUs. */
  memoryBytes?: number;
  /** Of usable GPUs, e.g. "9.0". */
  computeCapability?: string;
}

/**
 * The devices of this machine as this build sees them.
 *
 * @example
 * ```ts
 * import { devices } from "@vd/kernels-native";
 *
 * for (const { kind, name, usable, reason } of devices()) console.log(kind, name, usable, reason);
 * ```
 */
export function devices(): DeviceInfo[] {
  const isa = loadAddon().cpuIsa();
  const cpu = {
    kind: "cpu",
    name: "CPU",
    usable: true,
    reason: `${availableParallelism()} cores, ${isa} kernels.`,
  } as const;
  const gpus = listGpus();
  if (gpus.devices.length === 0) return [cpu, { kind: "cuda", name: "CUDA", usable: false, reason: gpus.reason }];
  return [
    cpu,
    ...gpus.devices.map(({ name, usable, reason, memoryBytes, computeCapability }): DeviceInfo => {
      const details = memoryBytes > 0 ? { memoryBytes, computeCapability } : {};
      return { kind: "cuda", name, usable, reason, ...details };
    }),
  ];
}

function unusable(reason: string): never {
  throw new VdError({
    code: "unsupported",
    where: "device",
    expected: "a usable device",
    got: `cuda: ${reason}`,
    hint: `Use the CPU: device "cpu".`,
  });
}

function usableGpu(index: number, dir: string): NativeGpu {
  const { reason, devices } = listGpus(dir);
  if (devices.length === 0) unusable(reason);
  const gpu = devices[index];
  if (!gpu) unusable(`there is no GPU ${index}, only ${devices.length}.`);
  if (!gpu.usable) unusable(`${gpu.name}: ${gpu.reason}`);
  return gpu;
}

/**
 * Opens a device by kind.
 *
 * @throws VdError `attr` for a kind that does not exist, `unsupported` with the reason for one that cannot be used
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 *
 * const cpu = openDevice("cpu", { threads: 4 });
 * console.log(cpu.name, cpu.threads);
 * ```
 */
export function openDevice(kind: DeviceKind, options: DeviceOptions = {}): Device {
  if (!DEVICE_KINDS.includes(kind))
    throw new VdError({
      code: "attr",
      where: "device",
      expected: `one of ${DEVICE_KINDS.join(", ")}`,
      got: String(kind),
    });
  return kind === "cpu" ? Device.cpu(options) : Device.cuda(options);
}
