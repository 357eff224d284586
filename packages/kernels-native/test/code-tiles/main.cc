// Multiplies codes on every matrix kernel of 8-bit codes that this processor has, also those that it would not choose, and rounds numbers
// to codes on every instruction set; holds all against plain loops. Prints a line for each kernel, or ends with what is wrong.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../native/core/float_element.h"
#include "../../native/cpu/code_matrix.h"
#include "../../native/cpu/code_scale.h"

namespace {

using namespace vd;
using namespace vd::cpu;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "code-tiles: expected %s\n", what.c_str());
  std::exit(1);
}

/** The same bytes on every machine. */
struct Random {
  uint32_t state = 12345;
  uint8_t byte() { return static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24); }
};

/** A code of any value but NaN; -128 too, the smallest that 8 bits have. */
uint8_t any_code(Random& random, DType type) {
  uint8_t code = random.byte();
  while (type == DType::f8e4m3 && (code & 0x7f) == 0x7f) code = random.byte();
  return code;
}

/** A matrix of `taps` positions of `channels`, one panel of `cols`, by rows that share it: every kernel's own packing, cut and scales. */
void multiply(const CodeTiles& tiles, DType type, Isa isa, int64_t taps, int64_t channels, int64_t cols, bool extreme) {
  const std::string name =
      std::string(tiles.name) + " with " + std::to_string(taps) + "x" + std::to_string(channels) + " to " + std::to_string(cols);
  Random random;
  const auto code = [&] { return extreme ? uint8_t{type == DType::i8 ? uint8_t{0x80} : uint8_t{0xfe}} : any_code(random, type); };
  std::vector<uint8_t> weight(static_cast<size_t>(cols * taps * channels)), x(static_cast<size_t>(kTileRows * taps * channels));
  for (uint8_t& each : weight) each = code();
  for (uint8_t& each : x) each = code();
  std::vector<float> scales(static_cast<size_t>(cols));
  for (int64_t n = 0; n < cols; ++n) scales[static_cast<size_t>(n)] = 0.5f + static_cast<float>(n % 7);
  CodeMatrixSpec spec{};
  spec.weight = Tensor{weight.data(), type, 2, {cols, taps * channels}, taps * channels, true};
  spec.weightScale = Tensor{scales.data(), DType::f32, 2, {cols, 1}, 1, true};
  spec.outCols = cols;
  spec.taps = taps;
  spec.channels = channels;
  spec.rows = [&](int64_t n, uint8_t* out) { std::memcpy(out, weight.data() + n * taps * channels, static_cast<size_t>(taps * channels)); };
  PackCache cache;
  const CodeMatrix matrix(spec, cache, isa, tiles);
  std::vector<std::byte> staged(static_cast<size_t>(kTileRows * taps * matrix.row_bytes()));
  for (int64_t i = 0; i < kTileRows * taps; ++i) matrix.stage(x.data() + i * channels, staged.data() + i * matrix.row_bytes());
  std::vector<CodeSegment> segments(matrix.segment_bytes() / sizeof(CodeSegment));
  alignas(64) float sums[kTileRows * kMaxPanelCols];
  // The last row's second position lies outside: zeros. Where there are three, the third does for all rows.
  const auto rowsOf = [&](int64_t tap, const std::byte** rows) {
    for (int r = 0; r < kTileRows; ++r)
      rows[r] = r == kTileRows - 1 && tap == 1 ? matrix.zeros() : staged.data() + (r * taps + tap) * matrix.row_bytes();
    return tap != 2;
  };
  const auto scalesOf = [](int64_t, float* out) {
    for (int r = 0; r < kTileRows; ++r) out[r] = 0.25f * static_cast<float>(r + 1);
  };
  for (const Panel& panel : matrix.layout().panels()) {
    matrix.multiply(panel, segments.data(), rowsOf, scalesOf, sums);
    for (int r = 0; r < kTileRows; ++r)
      for (int c = 0; c < panel.cols.outCols; ++c) {
        const int64_t n = panel.cols.outCol + c;
        double sum = 0, sizes = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          if (tap == 2 || (tap == 1 && r == kTileRows - 1)) continue;
          for (int64_t k = 0; k < channels; ++k) {
            const double product = static_cast<double>(load_code(x.data(), type, (r * taps + tap) * channels + k)) *
                                   load_code(weight.data(), type, (n * taps + tap) * channels + k);
            sum += product;
            sizes += std::fabs(product);
          }
        }
        const float scale = 0.25f * static_cast<float>(r + 1) * scales[static_cast<size_t>(n)], got = sums[r * kMaxPanelCols + c];
        // One sum of integers is exact: its float and one product are all that rounds.
        if (type == DType::i8 && taps * channels <= tiles.longest) expect(got == static_cast<float>(sum) * scale, "exact sums of " + name);
        else expect(std::fabs(got - sum * scale) <= 2e-6 * sizes * scale, "sums near float64's of " + name);
      }
  }
}

void multiply_all(const CodeTiles& tiles, DType type, Isa isa) {
  const int64_t vector = tiles.width;
  for (const int64_t channels : {1, 2, 3, 4, 5, 31, 64, 129, 1285}) {
    for (const int64_t cols : {int64_t{1}, vector, vector + 3, 3 * vector, 4 * vector + 1})
      multiply(tiles, type, isa, 1, channels, cols, false);
    multiply(tiles, type, isa, 3, channels, 2 * vector + 1, false);
  }
  // The largest sums that one chain has, and more than one chain.
  multiply(tiles, type, isa, 1, 65536, 2, true);
  multiply(tiles, type, isa, 2, 40000, 2, true);
  std::printf("%s %s\n", type == DType::i8 ? "i8" : "f8e4m3", tiles.name);
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

/** Codes of many numbers, ties and ends among them, and all codes' numbers, are those of core/float8.h. */
void round_all(const CodeKernels& kernels, const char* isa) {
  std::vector<float> numbers = {0.0f,    -0.0f,  NAN,    -NAN,    INFINITY, -INFINITY, 448.0f, 464.0f,
                                -465.0f, 126.5f, 127.5f, -128.0f, 0.5f,     1.5f,      -2.5f};
  for (uint32_t i = 0; i < 0x10000u; ++i)
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u}) numbers.push_back(std::bit_cast<float>(i << 16 | low));
  numbers.resize(numbers.size() + 5, 3.0f);  // a vector that is not whole
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<uint8_t> codes(numbers.size());
  for (const DType type : {DType::f8e4m3, DType::i8}) {
    for (const float inverse : {1.0f, 0.37f}) {
      kernels.encode(numbers.data(), count, inverse, type, codes.data());
      for (size_t i = 0; i < numbers.size(); ++i) {
        uint8_t code;
        store_code(&code, type, 0, numbers[i] * inverse);
        expect(codes[i] == code, std::string("the code of ") + std::to_string(numbers[i]) + " on " + isa);
      }
    }
    uint8_t every[256];
    float back[256];
    for (int i = 0; i < 256; ++i) every[i] = static_cast<uint8_t>(i);
    kernels.decode(every, 253, type, 1.0f, back);
    for (int i = 0; i < 253; ++i)
      expect(bits(back[i]) == bits(load_code(every, type, i)), std::string("the numbers of all codes on ") + isa);
  }
  expect(kernels.largest(numbers.data() + 6, 9) == std::bit_cast<int32_t>(465.0f), std::string("the largest magnitude on ") + isa);
  expect(kernels.largest(numbers.data(), 4) == 0, std::string("no magnitude of NaN on ") + isa);
  expect(kernels.largest(numbers.data(), count) == std::bit_cast<int32_t>(INFINITY), std::string("infinity to count on ") + isa);
}

void run_table(const CodeTileTable& tiles, const CodeKernels& kernels, Isa isa) {
  round_all(kernels, isa_name(isa));
  multiply_all(tiles.integers, DType::i8, isa);
  multiply_all(tiles.floats, DType::f8e4m3, isa);
}

}  // namespace

int main() {
#if defined(__aarch64__)
  run_table(neon::code_tiles, neon::code_kernels, Isa::neon);
  if (has_sdot()) multiply_all(kArmDotTiles, DType::i8, Isa::neon);
#else
  run_table(plain::code_tiles, plain::code_kernels, Isa::plain);
  if (best_isa() >= Isa::avx2) run_table(avx2::code_tiles, avx2::code_kernels, Isa::avx2);
  if (has_short_vnni()) multiply_all(kShortVnniTiles, DType::i8, Isa::avx2);
  if (best_isa() >= Isa::avx512) run_table(avx512::code_tiles, avx512::code_kernels, Isa::avx512);
  if (has_vnni()) multiply_all(kVnniTiles, DType::i8, Isa::avx512);
#endif
  return 0;
}
