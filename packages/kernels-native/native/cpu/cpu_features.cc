#include "cpu_features.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace vd::cpu {
namespace {

#if defined(__x86_64__)
constexpr Isa kBaseline = Isa::plain;

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

/** XCR0: register files that the operating system saves. Needs OSXSAVE. */
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr bool has_all(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

/** Asks the kernel for the 8 KiB tile registers, which Linux hands out per process and only on request. Elsewhere the
 *  answer is no. Source: Linux Documentation/arch/x86/xstate.rst (ARCH_REQ_XCOMP_PERM). */
bool os_grants_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Isa detect() {
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  const Registers one = cpuid(1, 0);
  const Registers seven = cpuid(7, 0);
  const uint32_t osxsave = 1u << 27, avx = 1u << 28, fma = 1u << 12, f16c = 1u << 29;
  if (!has_all(one.c, osxsave | avx | fma | f16c)) return Isa::plain;
  const uint64_t saved = saved_state();
  const uint32_t avx2 = 1u << 5;
  if (!has_all(saved, kYmm) || !has_all(seven.b, avx2)) return Isa::plain;
  const uint32_t f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
  if (!has_all(saved, kZmm) || !has_all(seven.b, f | dq | bw | vl)) return Isa::avx2;
  const uint32_t amxBf16 = 1u << 22, amxTile = 1u << 24;
  if (!has_all(saved, kTiles) || !has_all(seven.d, amxBf16 | amxTile) || !os_grants_tiles()) return Isa::avx512;
  return Isa::amx;
}

bool detect_bf16_dots() { return best_isa() >= Isa::avx512 && has_all(cpuid(7, 1).a, 1u << 5); }
bool detect_vnni() { return best_isa() >= Isa::avx512 && has_all(cpuid(7, 0).c, 1u << 11); }
bool detect_short_vnni() { return best_isa() >= Isa::avx2 && has_all(cpuid(7, 1).a, 1u << 4); }
bool detect_sdot() { return false; }
#elif defined(__aarch64__)
constexpr Isa kBaseline = Isa::neon;

Isa detect() { return Isa::neon; }

bool detect_bf16_dots() { return false; }
bool detect_vnni() { return false; }
bool detect_short_vnni() { return false; }

/** Linux says so by a bit; every Mac with such a processor has the instructions. Source: Linux Documentation/arch/arm64/elf_hwcaps.rst. */
bool detect_sdot() {
#if defined(__linux__)
  constexpr unsigned long kDotProducts = 1ul << 20;
  return (getauxval(AT_HWCAP) & kDotProducts) != 0;
#elif defined(__APPLE__)
  return true;
#else
  return false;
#endif
}
#else
#error "There are kernels for x86-64 and 64-bit Arm only."
#endif

}  // namespace

Isa best_isa() {
  static const Isa found = detect();
  return found;
}

Isa resolve_isa(Isa wanted) {
  if (wanted == Isa::amx_emulated && best_isa() >= Isa::avx512) return wanted;
  if (wanted >= best_isa()) return best_isa();
  return wanted == Isa::neon ? kBaseline : std::max(wanted, kBaseline);
}

const char* isa_name(Isa isa) {
  constexpr const char* kNames[] = {"plain", "neon", "avx2", "avx512", "amx", "amx-emulated"};
  return kNames[static_cast<int>(isa)];
}

const char* math_name(Math math) {
  constexpr const char* kNames[] = {"exact", "fast", "bf16"};
  return kNames[static_cast<int>(math)];
}

bool has_bf16_dots() {
  static const bool found = detect_bf16_dots();
  return found;
}

bool has_vnni() {
  static const bool found = detect_vnni();
  return found;
}

bool has_short_vnni() {
  static const bool found = detect_short_vnni();
  return found;
}

bool has_sdot() {
  static const bool found = detect_sdot();
  return found;
}

Math math_of(Isa isa, Math wanted) {
  if (isa >= Isa::amx) return wanted;
  return wanted == Math::bf16 && isa == Isa::avx512 && has_bf16_dots() ? Math::bf16 : Math::exact;
}

}  // namespace vd::cpu
