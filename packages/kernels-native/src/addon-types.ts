/** Floats that were read. */
export interface FloatsRead {
  values: Float32Array;
  /** Index of the first value that is not finite; none where all are. */
  firstNotFinite?: number;
}

/** Memory of the addon. Bytes go in and out by copying. */
export interface NativeBuffer {
  readonly bytes: number;
  readonly writable: boolean;
  /** Copies `source` to byte `offset`. */
  writeSync(source: ArrayBufferView | ArrayBuffer, offset: number): void;
  /** Does what writeSync does, off the event loop. A view of shared memory is read in place and must not change meanwhile; any other
   *  source may change once the call has returned. */
  write(source: ArrayBufferView | ArrayBuffer, offset: number): Promise<void>;
  /** Does what write does with numbers as elements of a float type, rounded; their largest magnitude, NaN where one is. dtype: its position
   *  in contract/dtype.ts. */
  writeFloats(source: Float32Array, dtype: number, offset: number): Promise<number>;
  /** Copies from byte `offset` until `target` is full. */
  readSync(target: ArrayBufferView | ArrayBuffer, offset: number): void;
  /** Floats of a tensor as float32, read off the event loop. dtype: its position in contract/dtype.ts. planePixels: every so many pixels come as
   *  planes; 0: pixel by pixel. into: where they go, as many;
   *  default: a new array. One of allocateFloats, or over shared memory, is filled in place; any other one once all are read. */
  readFloats(
    offset: number,
    dtype: number,
    pixels: number,
    channels: number,
    pitch: number,
    planePixels: number,
    into?: Float32Array,
  ): Promise<FloatsRead>;
  /** Bytes, read off the event loop. into: where they go, as many, as of readFloats. */
  readBytes(offset: number, bytes: number, into?: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** Copies `bytes` bytes of another buffer from its byte `from` to byte `to`. */
  copyFromSync(source: NativeBuffer, from: number, to: number, bytes: number): void;
  /** Does what copyFromSync does, off the event loop. */
  copyFrom(source: NativeBuffer, from: number, to: number, bytes: number): Promise<void>;
  /** Sets every byte. */
  fillSync(byte: number): void;
  /** Lets go of the memory; programs that use it keep it alive. */
  freeSync(): void;
  /** Does what freeSync does, off the event loop: done when the promise is settled. */
  free(): Promise<void>;
}

/** Memory of a device of its own, in bytes; zeros for the CPU. */
export interface DeviceMemory {
  freeBytes: number;
  totalBytes: number;
  /** Weights that this process keeps there. */
  residentBytes: number;
}

/** What a run took; `rowUs` is empty unless timing was asked for. */
export interface RunTimes {
  elapsedUs: number;
  rowUs: Float64Array;
  /** True if a captured graph was replayed, false if the rows were launched one by one. */
  replayed: boolean;
}

/** Figures of a compiled program. */
export interface ProgramInfo {
  /** Working memory of all workers. */
  scratchBytes: number;
  /** Weights packed on this device, those of other programs included. */
  packedBytes: number;
  /** Weights that every run copies to the device. */
  streamedBytes: number;
  /** Per row: true where a fast path runs, false for the reference. */
  fast: boolean[];
  /** Per row: the kernel variant; on the CPU the fast path, or `definition`. */
  variants: string[];
  /** Per row: kernels that it launches on a GPU; empty on the CPU. */
  launches: number[];
}

/** A kernel variant, or a family of them (`sm90_*`), that a row cannot have. */
export interface RejectedVariant {
  name: string;
  /** Why, as a clause about the variant. */
  reason: string;
}

/** Bytes of one buffer that are copied to another, which may be another device's. */
export interface NativeCopy {
  target: NativeBuffer;
  to: number;
  source: NativeBuffer;
  from: number;
  bytes: number;
}

/** A checked list of rows, ready to run. */
export interface NativeProgram {
  readonly info: ProgramInfo;
  /** Per row: the variants that it could have, the device's own choice first; empty where it has none. */
  readonly candidates: string[][];
  /** Per row: the variants that it cannot have; empty unless it was compiled with `explain`. */
  readonly rejected: RejectedVariant[][];
  /** Variants that the driver should have compiled and did not: others run in their place. */
  readonly refused: RejectedVariant[];
  /** copies: made before the first row. */
  run(timing: boolean, copies?: NativeCopy[]): Promise<RunTimes>;
  /** Done when the launches are queued, behind the runs of `after` that were queued last. */
  queue(copies: NativeCopy[], after: NativeProgram[]): Promise<void>;
  /** Waits for the run that was queued last. */
  wait(): Promise<void>;
  /** Makes the current run stop before its next row. */
  cancel(): void;
  freeSync(): void;
  /** Does what freeSync does, off the event loop: done when the promise is settled. */
  free(): Promise<void>;
}

/** A memory that a program's rows address by its position in the list. */
export interface BufferBinding {
  buffer: NativeBuffer;
  /** The contents never change while the program lives, so that weights may be packed. */
  constant: boolean;
}

/** Texts in one string with NULs between them, which is read much faster than a list. */
export interface JoinedTexts {
  text: string;
  count: number;
}

/** Something that runs programs. */
export interface NativeDevice {
  /** `words`: per row its op number, attribute values, and ten numbers per tensor (see native/core/validate.h). */
  compile(
    words: Float64Array,
    names: JoinedTexts,
    buffers: BufferBinding[],
    options?: {
      capture: boolean;
      variants?: JoinedTexts;
      insteadOf?: JoinedTexts;
      explain?: boolean;
      batchInvariant?: boolean;
      streamBytes?: number;
      goesFirst?: boolean;
      space?: { buffer: NativeBuffer; byteOffset: number; bytes: number };
    },
  ): Promise<NativeProgram>;
  /** Opens what is opened late. */
  prepare(): Promise<void>;
  /** Zeroed memory that rows on this device may write. */
  allocate(bytes: number, cleared: boolean): Promise<NativeBuffer>;
  /** Zeroed host memory that copies between it and this device are fastest with. */
  allocateHost(bytes: number): Promise<NativeBuffer>;
  /** Lets go of packed weights that no program uses: of all, or of transformed ones only. */
  trim(transformed?: boolean): Promise<void>;
  /** Memory of its own; zeros for the CPU. */
  memory(): Promise<DeviceMemory>;
}

/** How a CPU device is opened. */
export interface NativeDeviceOptions {
  threads: number;
  isa: string;
  /** How exactly products are taken: one of `CPU_MATH`. */
  math: string;
  reference: boolean;
}

/** How a GPU is opened. */
export interface NativeGpuOptions {
  index: number;
  /** Folder of the device code. */
  imageDir: string;
  /** Name of the device code, or empty for the best. */
  image: string;
}

/** One GPU. */
export interface NativeGpu {
  index: number;
  name: string;
  computeCapability: string;
  memoryBytes: number;
  usable: boolean;
  reason: string;
  image: string;
}

/** The GPUs, or why there are none. */
export interface NativeGpuList {
  reason: string;
  driverVersion: string;
  devices: NativeGpu[];
}

/** All launches of one kernel. */
export interface NativeKernelSum {
  name: string;
  count: number;
  totalUs: number;
}

/** The addon's exports. */
export interface Addon {
  allocateBuffer(bytes: number): NativeBuffer;
  mapFile(path: string): NativeBuffer;
  openDevice(options: NativeDeviceOptions | NativeGpuOptions): NativeDevice;
  listGpus(imageDir: string): NativeGpuList;
  /** Starts the driver off the event loop; true if it can be used. */
  startDriver(): Promise<boolean>;
  /** Begins to record the kernels that this process launches; why it does not, or an empty text. */
  startCupti(libraries: string[]): string;
  stopCupti(): void;
  /** Recorded since the last call, the longest first. */
  takeKernels(): NativeKernelSum[];
  /** NVTX ranges that CUPTI heard of since the last call. */
  takeRanges(): number;
  /** Lets the tool whose library it is attach itself; why it does not, or an empty text. */
  startNvtx(path: string): string;
  /** Opens a range; its id. */
  startNvtxRange(name: string): bigint;
  endNvtxRange(id: bigint): void;
  /** What the 624 words of MT19937 give when they are drawn, drawn anew if all were, and the state that they belong to.
   *  state: as of `fillNormals`; it stays as it is. */
  mersenneDraws(state: Uint32Array): { state: Uint32Array; draws: Uint32Array };
  /** Fills `values` with mean + scale · normal, each operation rounded to `dtype` (its position in contract/dtype.ts), off
   *  the event loop; gives the state afterwards. state: the 624 words of MT19937 and the position of the next one.
   *  values, mean: over shared memory, of one length, at least 16. isa: an instruction set or "best". */
  fillNormals(
    state: Uint32Array,
    values: Float32Array,
    scale: number,
    dtype: number,
    mean: Float32Array | undefined,
    isa: string,
  ): Promise<Uint32Array>;
  /** Resizes pixels [H,W,3] by taps along x, then along y, each rounded to 8 bits, off the event loop; an axis whose arguments are all
   *  undefined keeps its size. Pixels of shared memory are read in place and must not change meanwhile; any others may change once the call
   *  has returned. starts, counts: per result; weights: [size, room], in 2^-22. threads: how many; 0 for as many as it is worth. */
  resizePicture(
    pixels: Uint8Array,
    width: number,
    height: number,
    xStarts: Int32Array | undefined,
    xCounts: Int32Array | undefined,
    xWeights: Int32Array | undefined,
    yStarts: Int32Array | undefined,
    yCounts: Int32Array | undefined,
    yWeights: Int32Array | undefined,
    threads: number,
  ): Promise<Uint8Array<ArrayBuffer>>;
  /** Resamples pixels along x, then along y, to [rows,columns,3], off the event loop. pixels: bytes [H,W,3], whose `levels` stand for a
   *  number each, or floats [3,H,W] from 0 to 1, which become those from -1 to 1; held as by resizePicture. first: per result; weights:
   *  [size, length]. mean, spread: of each channel; with them numbers from -1 to 1 come as planes [3,rows,columns] from 0 to 1, less the mean
   *  and over the spread. */
  resamplePicture(
    pixels: Uint8Array | Float32Array,
    width: number,
    height: number,
    levels: Float32Array | undefined,
    xFirst: Int32Array,
    xLength: number,
    xWeights: Float64Array,
    yFirst: Int32Array,
    yLength: number,
    yWeights: Float64Array,
    mean: Float32Array | undefined,
    spread: Float32Array | undefined,
    threads: number,
  ): Promise<Float32Array<ArrayBuffer>>;
  /** The numbers that bytes [pixels,3] stand for as planes [3,pixels], off the event loop. pixels: held as by resizePicture. into: where they
   *  go, as of readFloats. adds: adds them to what is there, rounded to float32. */
  pictureToPlanes(
    pixels: Uint8Array,
    levels: Float32Array,
    into: Float32Array | undefined,
    adds: boolean,
    threads: number,
  ): Promise<Float32Array>;
  cpuIsa(): "amx" | "avx512" | "avx2" | "plain" | "neon";
  /** What `math` comes to with an instruction set: `math` itself, or `exact` where nothing would be gained. */
  cpuMath(isa: string, math: string): "exact" | "fast" | "bf16";
  /** Zeros in memory that workers fill in place. */
  allocateFloats(count: number): Float32Array;
  /** Touches the memory of an array of allocateFloats, or a part of one, off the event loop; the numbers stay as they are. */
  touchFloats(values: Float32Array): Promise<void>;
  /** The largest magnitude of `values`, or NaN where one is. */
  largestMagnitude(values: Float32Array): number;
  opIds(): string[];
}
