// Results as 8-bit codes on the Hopper matrix core, of gated activations or as they are: what is behind them reads a byte for each number,
// and nobody reads two to round them.
//
// Sums come from the tensor cores as they are; scales of rows and columns, that of the codes and the biases meet in a product and a
// multiply-add for each sum, in the latter alone where all rows and all columns share their scales. Of 16 columns a thread of a quad has
// four, two and two; two exchanges within the quad give it four that lie beside each other, a word of a row of 16 bytes, and the copy
// engine stores rows of 64.
#pragma once
#include "matmul_sm90_scaled.cuh"
#include "matmul_sm90_staged.cuh"
#include "quantized.cuh"

namespace vd::device {

/** What sums of values are multiplied with in front of their gates: {@link matmul_value_scale}, or in steps of the codes that they become.
 */
template <class Config, bool kThere = Config::kCodes> struct MatmulCodeScale {
  static constexpr bool uniform = false;
  float value;
  __device__ __forceinline__ explicit MatmulCodeScale(const MatmulSm90Params& p) : value(matmul_value_scale<Config>(p.epilogue)) {}
};
template <class Config> struct MatmulCodeScale<Config, true> {
  float value;  // results are multiplied with: outScale, and a step of the codes; half of one where gates are twice their activation
  bool uniform;  // all rows have one scale, and all columns
  float one;     // then what sums are multiplied with
  __device__ __forceinline__ explicit MatmulCodeScale(const MatmulSm90Params& p)
      : value((Config::kGeglu ? 0.5f : 1.0f) * p.epilogue.outScale *
              (p.epilogue.yScale == nullptr ? 1.0f : __frcp_rn(ptx::load_here(p.epilogue.yScale)))),
        uniform(!matmul_has_row_scales(p) && p.scales.weightStride == 0),
        one(uniform ? ptx::load_here(p.scales.x) * ptx::load_here(p.scales.weight) : 0.0f) {}
};

/** Of two words with the codes of two columns of two blocks of 8, one behind the other, in each lane: this lane's word of the 16 codes
 *  of both blocks. By all lanes of a warp. */
__device__ __forceinline__ uint32_t matmul_code_word(uint32_t codes) {
  const int lane = threadIdx.x & 31, source = (lane & ~3) | (lane & 1) << 1;
  const uint32_t first = __shfl_sync(0xffffffffu, codes, source), second = __shfl_sync(0xffffffffu, codes, source + 1);
  return __byte_perm(first, second, lane & 2 ? 0x7632 : 0x5410);
}

/** Two codes of values, in steps of the codes, times their gates' activations: of float8 by pairs of float16, which are exact enough for
 * it. */
template <class Config> __device__ __forceinline__ uint32_t matmul_gated_codes(float2 value, float2 gate) {
  const auto function = [](auto x) { return Config::kSwiglu ? doubled_silu(x) : doubled_gelu(x); };
  if constexpr (std::is_same_v<typename Config::Operand, int8_t>) {
    return pack_codes2<int8_t>(value.x * function(gate.x), value.y * function(gate.y));
  } else {
    const auto pair = [](float2 v) {
      const uint32_t bits = ptx::saturate_f16x2(v.x, v.y);
      return *reinterpret_cast<const __half2*>(&bits);
    };
    return pack_codes2(__hmul2(pair(value), function(pair(gate))));
  }
}

/** The numbers that two neighbouring sums stand for. kUniform: `column` has the row's scale in it. */
template <bool kUniform, class Sum>
__device__ __forceinline__ float2 matmul_numbers(const Sum* sums, float row, float2 column, float2 bias) {
  const float2 v = make_float2(matmul_float(sums[0]), matmul_float(sums[1]));
  if constexpr (kUniform) return make_float2(fmaf(v.x, column.x, bias.x), fmaf(v.y, column.y, bias.y));
  else return make_float2(fmaf(v.x * row, column.x, bias.x), fmaf(v.y * row, column.y, bias.y));
}

/** The scales of a tile's columns for a thread's two of a block of 8 results: of values, in steps of the codes, and of gates. */
struct MatmulCodeColumns {
  float2 value, gate;
};

/** Two codes of results of this thread: of the row `part` of a block of 64 rows, and the block of 8 columns. row: its scale. */
template <class Config, bool kUniform>
__device__ __forceinline__ uint32_t matmul_codes_of(const MatmulSum<Config> (&sums)[Config::kWidth / 2], int block, int part, float row,
                                                    float valueScale, const MatmulCodeColumns& columns, const float* bias) {
  const float2 valueBias = *reinterpret_cast<const float2*>(bias + 8 * block);
  const MatmulSum<Config>* v = sums + block * (Config::kGeglu ? 8 : 4) + 2 * part;
  const float2 value = matmul_numbers<kUniform>(v, row * valueScale, columns.value, valueBias);
  if constexpr (!Config::kGeglu) {
    return pack_codes2<typename Config::Operand>(value.x, value.y);
  } else {
    const float2 gateBias = *reinterpret_cast<const float2*>(bias + Config::kTileN / 2 + 8 * block);
    return matmul_gated_codes<Config>(value, matmul_numbers<kUniform>(v + 4, row, columns.gate, gateBias));
  }
}

/** Codes of a tile's results in staging. bias: values in steps of the codes, then gates. kUniform: one scale multiplies all sums, which
 *  leaves out an instruction for each of them, the shuffles that bring columns' scales, and `scales`, which nobody loads then. */
template <class Config, bool kUniform>
__device__ __forceinline__ void matmul_fill_codes(const MatmulSum<Config> (&sums)[Config::kRowBlocks][1][Config::kWidth / 2],
                                                  const MatmulTileScales<Config>& scales, const MatmulCodeScale<Config>& codeScale,
                                                  const float* bias, uint32_t staging) {
  const MatmulStaging place = matmul_staging(staging + threadIdx.x % 128 / 32 * 16 * 64);
  const float* at = bias + 2 * (threadIdx.x & 3);
  const float one = codeScale.one, valueScale = codeScale.value;
  MatmulCodeColumns columns{make_float2(one * valueScale, one * valueScale), make_float2(one, one)};
#pragma unroll
  for (int half = 0; half < Config::kOutColumns / 32; ++half) {
    uint32_t codes[Config::kRowBlocks][2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int block = half * 4 + i;
      if constexpr (!kUniform) {
        columns.value = scales.column(Config::kGeglu ? 2 * block : block);
        if constexpr (Config::kGeglu) columns.gate = scales.column(2 * block + 1);
      }
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const float row = kUniform ? 1.0f : scales.row[m][part];
          const uint32_t code = matmul_codes_of<Config, kUniform>(sums[m][0], block, part, row, valueScale, columns, at);
          if (i % 2 == 0) codes[m][i / 2][part] = code;
          else codes[m][i / 2][part] |= code << 16;
        }
    }
    const uint32_t to = (half % 2 == 0 ? place.fragment : place.fragment2) + half / 2 * Config::kStepBytes;
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
      ptx::stmatrix_x4(to + m * 64 * 64, matmul_code_word(codes[m][0][0]), matmul_code_word(codes[m][0][1]),
                       matmul_code_word(codes[m][1][0]), matmul_code_word(codes[m][1][1]));
  }
}

}  // namespace vd::device
