// The words of the Mersenne Twister, Box and Muller's transform of uniforms, and its results as float16. Plain loops in double without
// a library's functions, which compilers turn into vectors. Every instruction set and system gives the same bits, also those that fuse
// operations: over all 2^24 uniforms the three functions of the transform are the exact ones rounded to float.
#include "normals.h"

#include "simd/isa.h"

namespace vd::cpu::VD_ISA {

static inline uint32_t mixed(uint32_t high, uint32_t low, uint32_t far) {
  const uint32_t word = (high & 0x80000000u) | (low & 0x7fffffffu);
  return far ^ (word >> 1) ^ ((0u - (word & 1u)) & 0x9908b0dfu);
}

static void twist(uint32_t* words) {
  // kShift: how far from a word the one lies that it is mixed with. In three parts, so that no word depends on one of its own part:
  // compilers then take several at a time.
  constexpr size_t kWords = MersenneTwister::kWords, kShift = 397, kFirst = kWords - kShift, kSecond = 2 * kFirst;
  for (size_t i = 0; i < kFirst; ++i) words[i] = mixed(words[i], words[i + 1], words[i + kShift]);
  for (size_t i = kFirst; i < kSecond; ++i) words[i] = mixed(words[i], words[i + 1], words[i - kFirst]);
  for (size_t i = kSecond; i < kWords - 1; ++i) words[i] = mixed(words[i], words[i + 1], words[i - kFirst]);
  words[kWords - 1] = mixed(words[kWords - 1], words[0], words[kShift - 1]);
}

static inline uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

static void temper(const uint32_t* words, uint32_t* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = tempered(words[i]);
}

static void uniforms(const uint32_t* words, float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int32_t>(tempered(words[i]) & 0xffffffu)) * 0x1p-24f;
}

/** a · b + c. Rounded once where the instruction set does that in one operation, which takes half the time. */
static inline double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/** ln x of a normal float x > 0. */
static inline double logarithm(float x) {
  int32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  // x = m · 2^e with m from √½, whose bits these are, to √2.
  const int32_t e = (bits - 0x3f3504f3) >> 23;
  const int32_t mantissa = bits - e * (1 << 23);
  float m;
  __builtin_memcpy(&m, &mantissa, sizeof m);
  // ln m = 2 artanh t = 2t · (1 + t²/3 + t⁴/5 + …), |t| < 0.172.
  const double t = (static_cast<double>(m) - 1) / (static_cast<double>(m) + 1);
  const double s = t * t;
  double sum = 1.0 / 21;
  sum = fused(sum, s, 1.0 / 19);
  sum = fused(sum, s, 1.0 / 17);
  sum = fused(sum, s, 1.0 / 15);
  sum = fused(sum, s, 1.0 / 13);
  sum = fused(sum, s, 1.0 / 11);
  sum = fused(sum, s, 1.0 / 9);
  sum = fused(sum, s, 1.0 / 7);
  sum = fused(sum, s, 1.0 / 5);
  sum = fused(sum, s, 1.0 / 3);
  constexpr double kLn2 = 0.6931471805599453;
  return fused(e, kLn2, fused(2 * t, s * sum, 2 * t));
}

/** sin y by Taylor's series, |y| <= π/4; z = y². */
static inline double small_sine(double y, double z) {
  double sum = -1.0 / 1307674368000;
  sum = fused(sum, z, 1.0 / 6227020800);
  sum = fused(sum, z, -1.0 / 39916800);
  sum = fused(sum, z, 1.0 / 362880);
  sum = fused(sum, z, -1.0 / 5040);
  sum = fused(sum, z, 1.0 / 120);
  sum = fused(sum, z, -1.0 / 6);
  return fused(y, z * sum, y);
}

/** cos y by Taylor's series, |y| <= π/4; z = y². */
static inline double small_cosine(double z) {
  double sum = -1.0 / 87178291200;
  sum = fused(sum, z, 1.0 / 479001600);
  sum = fused(sum, z, -1.0 / 3628800);
  sum = fused(sum, z, 1.0 / 40320);
  sum = fused(sum, z, -1.0 / 720);
  sum = fused(sum, z, 1.0 / 24);
  sum = fused(sum, z, -1.0 / 2);
  return fused(z, sum, 1);
}

/** The sine and cosine of an angle from 0 to 2π. */
static inline void sine_and_cosine(float angle, float& sine, float& cosine) {
  // Adding 1.5 · 2^52 rounds to a whole number of quadrants and leaves it in the lowest bits.
  constexpr double kRounder = 0x1.8p52, kTwoOverPi = 0.6366197723675814;
  const double x = angle;
  const double rounded = fused(x, kTwoOverPi, kRounder);
  const double quadrant = rounded - kRounder;
  // π/2 in two parts: the first has few enough bits that a few times it is exact.
  const double y = fused(quadrant, -0x1.0b4611a626331p-34, fused(quadrant, -0x1.921fb544p+0, x));
  double s = small_sine(y, y * y), c = small_cosine(y * y);
  uint64_t q, sBits, cBits;
  __builtin_memcpy(&q, &rounded, sizeof q);
  __builtin_memcpy(&sBits, &s, sizeof sBits);
  __builtin_memcpy(&cBits, &c, sizeof cBits);
  // Odd quadrants exchange the two; signs go by the quadrant's second bit. By bits, since branches would not be vectors.
  const uint64_t exchange = (sBits ^ cBits) & (0 - (q & 1));
  sBits ^= exchange ^ ((q & 2) << 62);
  cBits ^= exchange ^ (((q + 1) & 2) << 62);
  __builtin_memcpy(&s, &sBits, sizeof s);
  __builtin_memcpy(&c, &cBits, sizeof c);
  sine = static_cast<float>(s);
  cosine = static_cast<float>(c);
}

/** Turns blocks of 16 uniforms in [0, 1) into normals in place, every operation rounded to float: the first eight are
 *  radii, the last eight angles; cosines come first, then sines. Source: pytorch/pytorch
 *  aten/src/ATen/native/cpu/DistributionTemplates.h `normal_fill_16` (Box and Muller, 1958). */
static void box_muller(float* values, int64_t numBlocks) {
  constexpr float kTurn = 6.2831855f;
  for (int64_t block = 0; block < numBlocks; ++block) {
    float* first = values + 16 * block;
    float* second = first + 8;
    for (int j = 0; j < 8; ++j) {
      const float radius = __builtin_sqrtf(-2.0f * static_cast<float>(logarithm(1.0f - first[j])));
      float sine, cosine;
      sine_and_cosine(kTurn * second[j], sine, cosine);
      first[j] = radius * cosine;
      second[j] = radius * sine;
    }
  }
}

/** The nearest float16. Without branches, which would not be vectors. */
static inline float rounded_to_half(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffffu;
  float size;
  __builtin_memcpy(&size, &magnitude, sizeof size);
  // Floats from 1/2 on have the steps of float16 below its normal numbers.
  size = (size + 0.5f) - 0.5f;
  uint32_t subnormal;
  __builtin_memcpy(&subnormal, &size, sizeof subnormal);
  uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~0x1fffu;
  rounded = magnitude < 0x38800000u ? subnormal : rounded;
  rounded = magnitude >= 0x477ff000u ? 0x7f800000u : rounded;
  rounded = magnitude > 0x7f800000u ? 0x7fc00000u : rounded;
  rounded |= bits & 0x80000000u;
  float result;
  __builtin_memcpy(&result, &rounded, sizeof result);
  return result;
}

static void shape_halves(float* values, int64_t count, float scale, const float* mean) {
  if (mean == nullptr) {
    for (int64_t i = 0; i < count; ++i) values[i] = rounded_to_half(rounded_to_half(values[i]) * scale);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = rounded_to_half(mean[i] + rounded_to_half(rounded_to_half(values[i]) * scale));
  }
}

const NormalKernels normal_kernels = {
    .twist = twist, .temper = temper, .uniforms = uniforms, .box_muller = box_muller, .shape_halves = shape_halves};

}  // namespace vd::cpu::VD_ISA
