import { cardOfDevice } from "../roofline/cards";

/** The least that a rate should be, and why. */
export interface Expectation {
  atLeast: number;
  why: string;
}

/** What both rates of a device should be: GB/s read and written, TFLOP/s. */
export interface ExpectedRates {
  copy: Expectation;
  matrix: Expectation;
}

/** What is known of a CPU. */
export interface CpuFacts {
  /** Instruction set of the kernels: plain, neon, avx2, avx512 or amx. */
  isa: string;
  threads: number;
  /** As the system tells it; 0 where it does not. */
  clockMhz: number;
  /** What the C library's memcpy reaches with one thread, bytes read and written. */
  memcpyGbPerS: number;
}

/** Float32 operations that one hardware thread can end in a cycle: half of its core's, since two threads share one. Two
 *  fused multiply-adds a cycle of 8 numbers with AVX2 and of 16 with AVX-512 (AMD Zen 4 and Intel with one such unit do half
 *  as many in a core, all of them in one thread); without either, an addition and a product of 4. Cores of Arm servers have
 *  one thread and two fused multiply-adds of 4. AMX multiplies 16 × 16 × 32
 *  bfloat16 in 16 cycles, and a float32 product is six of those. Source: Intel 64 and IA-32 Architectures Optimization
 *  Reference Manual (throughput of VFMADD and TDPBF16PS), AMD Software Optimization Guide for Zen 4, Arm Neoverse N1 Software
 *  Optimization Guide. */
const FLOPS_PER_CYCLE: Readonly<Record<string, number>> = { plain: 4, neon: 16, avx2: 16, avx512: 32, amx: 85 };
/** Where the system tells no clock. */
const ASSUMED_MHZ = 2000;
/** Shares of a peak below which a rate is slow: kernels at work reach 60 % and more of it on a machine that is idle. */
const SLOW_SHARE = 0.3;
const SLOW_GPU_COPY_SHARE = 0.5;
/** Share of one thread's memcpy: that one may write past the caches, which saves a third of the traffic. */
const MEMCPY_SHARE = 0.5;
/** One channel of DDR4-2133. Source: JEDEC JESD79-4, 2133 million transfers of 8 bytes. */
const CHANNEL_GB_PER_S = 17.1;

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** What a CPU's rates should at least be. */
export function expectedOfCpu({ isa, threads, clockMhz, memcpyGbPerS }: CpuFacts): ExpectedRates {
  const mhz = clockMhz > 0 ? clockMhz : ASSUMED_MHZ;
  const peak = (threads * mhz * (FLOPS_PER_CYCLE[isa] ?? FLOPS_PER_CYCLE.plain!)) / 1e6;
  const clock = `${(mhz / 1000).toFixed(1)} GHz${clockMhz > 0 ? "" : " (assumed)"}`;
  const channel = SLOW_SHARE * CHANNEL_GB_PER_S;
  const memcpy = MEMCPY_SHARE * memcpyGbPerS;
  return {
    copy:
      memcpy > channel
        ? { atLeast: memcpy, why: `${percent(MEMCPY_SHARE)} of what one thread's memcpy reaches here` }
        : { atLeast: channel, why: `${percent(SLOW_SHARE)} of one channel of DDR4-2133` },
    matrix: {
      atLeast: SLOW_SHARE * peak,
      why: `${percent(SLOW_SHARE)} of the peak of ${threads} hardware threads with ${isa} at ${clock}`,
    },
  };
}

/** The least of any card with compute capability 7.5: the GTX 1650's 128 GB/s. Source: NVIDIA's product page. */
const LEAST_GPU_GB_PER_S = 128;
/** Operations per byte of memory traffic that tensor cores leave far behind (the cards above do 76 to 430) and plain
 *  arithmetic does not reach (the RTX 3090's float32: 38). */
const TENSOR_CORE_FLOPS_PER_BYTE = 40;

/** What a GPU's rates should at least be. name: as the driver tells it. copyGbPerS: as measured, by which the matrix rate of
 *  an unknown card is judged. */
export function expectedOfGpu(name: string, copyGbPerS: number): ExpectedRates {
  const known = cardOfDevice(name);
  if (known === undefined)
    return {
      copy: {
        atLeast: SLOW_SHARE * LEAST_GPU_GB_PER_S,
        why: `${percent(SLOW_SHARE)} of the slowest card that kernels run on, as this one is not in the table`,
      },
      matrix: {
        atLeast: (TENSOR_CORE_FLOPS_PER_BYTE * copyGbPerS) / 1e3,
        why: `${TENSOR_CORE_FLOPS_PER_BYTE} operations for each byte copied, which tensor cores exceed`,
      },
    };
  const { gbPerS } = known;
  const tflopPerS = known.tflopPerS.f16;
  return {
    copy: {
      atLeast: SLOW_GPU_COPY_SHARE * gbPerS,
      why: `${percent(SLOW_GPU_COPY_SHARE)} of the card's ${gbPerS} GB/s`,
    },
    matrix: { atLeast: SLOW_SHARE * tflopPerS, why: `${percent(SLOW_SHARE)} of the card's ${tflopPerS} TFLOP/s` },
  };
}
