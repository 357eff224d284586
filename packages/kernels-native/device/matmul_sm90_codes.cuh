// Results of gated activations as 8-bit codes on the Hopper matrix core: the product behind them reads a byte for each number, and
// nobody reads two to round them.
//
// Sums come from the tensor cores as they are; scales of rows and columns, that of the codes and the biases meet in one multiply-add for
// each sum. Of 16 columns a thread of a quad has four, two and two; two exchanges within the quad give it four that lie beside each
// other, a word of a row of 16 bytes, and the copy engine stores rows of 64.
#pragma once
#include "matmul_sm90_scaled.cuh"
#include "matmul_sm90_staged.cuh"
#include "quantized.cuh"

namespace vd::device {

/** What codes stand for multiples of, loaded before the products; nothing where results are no codes. */
template <class Config, bool kThere = Config::kCodes> struct MatmulCodeScale {
  __device__ __forceinline__ explicit MatmulCodeScale(const Epilogue&) {}
};
template <class Config> struct MatmulCodeScale<Config, true> {
  float scale;
  __device__ __forceinline__ explicit MatmulCodeScale(const Epilogue& e) : scale(e.yScale == nullptr ? 1.0f : ptx::load_here(e.yScale)) {}
};

/** Of two words with the codes of two columns of two blocks of 8, one behind the other, in each lane: this lane's word of the 16 codes
 *  of both blocks. By all lanes of a warp. */
__device__ __forceinline__ uint32_t matmul_code_word(uint32_t codes) {
  const int lane = threadIdx.x & 31, source = (lane & ~3) | (lane & 1) << 1;
  const uint32_t first = __shfl_sync(0xffffffffu, codes, source), second = __shfl_sync(0xffffffffu, codes, source + 1);
  return __byte_perm(first, second, lane & 2 ? 0x7632 : 0x5410);
}

/** Two codes of (value · valueScale + valueBias) · gelu(gate · gateScale + gateBias), or with silu. */
template <class Config>
__device__ __forceinline__ uint32_t matmul_gated_codes(float2 value, float2 valueScale, float2 valueBias, float2 gate, float2 gateScale,
                                                       float2 gateBias) {
  const auto function = [](float x) { return Config::kSwiglu ? silu_coarse(x) : gelu_coarse(x); };
  const float2 results = make_float2(fmaf(value.x, valueScale.x, valueBias.x) * function(fmaf(gate.x, gateScale.x, gateBias.x)),
                                     fmaf(value.y, valueScale.y, valueBias.y) * function(fmaf(gate.y, gateScale.y, gateBias.y)));
  return pack_codes2<typename Config::Operand>(results.x, results.y);
}

/** Codes of a tile's results in staging. bias: values times outScale, then gates. */
template <class Config>
__device__ __forceinline__ void matmul_fill_codes(const Epilogue& e,
                                                  const MatmulSum<Config> (&sums)[Config::kRowBlocks][1][Config::kWidth / 2],
                                                  const MatmulTileScales<Config>& scales, const MatmulCodeScale<Config>& codeScale,
                                                  const float* bias, uint32_t staging) {
  const MatmulStaging place = matmul_staging(staging + threadIdx.x % 128 / 32 * 16 * 64);
  const float inverse = __frcp_rn(codeScale.scale);
  const float* at = bias + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int half = 0; half < Config::kOutColumns / 32; ++half) {
    uint32_t codes[Config::kRowBlocks][2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int block = half * 4 + i;
      const float2 value = scales.column(2 * block), gate = scales.column(2 * block + 1);
      const float2 b = *reinterpret_cast<const float2*>(at + 8 * block);
      const float2 gateBias = *reinterpret_cast<const float2*>(at + Config::kTileN / 2 + 8 * block);
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const MatmulSum<Config>* v = sums[m][0] + block * 8 + 2 * part;
          const float row = scales.row[m][part], factor = row * e.outScale * inverse;
          const float2 values = make_float2(matmul_float(v[0]) * factor, matmul_float(v[1]) * factor);
          const float2 gates = make_float2(matmul_float(v[4]) * row, matmul_float(v[5]) * row);
          const uint32_t code = matmul_gated_codes<Config>(values, value, make_float2(b.x * inverse, b.y * inverse), gates, gate, gateBias);
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
