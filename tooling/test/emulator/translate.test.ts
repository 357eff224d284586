import { expect, test } from "vitest";
import { translate } from "../../emulator/translate.mjs";

/** Without what lies between words. */
const squeezed = (text: string) => text.replace(/\s+/g, " ").trim();

test("variables in shared memory become parts of the block's memory, each with its own size and alignment", () => {
  const text = translate("__shared__ __align__(8) uint64_t barriers[Tiles::kBarriers];", 90);
  expect(text).toMatch(/^static const char barriersPlace = 0; auto& barriers = /);
  expect(text).toContain("static_shared(&barriersPlace, sizeof(std::type_identity_t<uint64_t[Tiles::kBarriers]>)");
  expect(text).toContain("std::max<size_t>(8, ");
  expect(translate("__shared__ __align__(16) Weights<kLanes * 8> weights;", 90)).toContain(
    "static_shared(&weightsPlace, sizeof(std::type_identity_t<Weights<kLanes * 8>>)",
  );
  const two = translate("__shared__ float a[kDepth][kPitch], b[f(1, 2)];", 90);
  expect(two).toContain("std::type_identity_t<float[kDepth][kPitch]>");
  expect(two).toContain("auto& b = ");
  expect(two).toContain("std::type_identity_t<float[f(1, 2)]>");
});

test("dynamic shared memory becomes a pointer", () => {
  expect(translate("extern __shared__ __align__(1024) uint8_t dynamicShared[];  // first", 90)).toBe(
    "uint8_t* const dynamicShared = static_cast<uint8_t*>(vd::emulator::dynamic_shared());  // first",
  );
});

test("sources are those of the architecture", () => {
  expect(translate("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900", 90)).toBe("#if 1 && 900 >= 900");
});

test("PTX that stands in a kernel becomes C++, what is not known stays for the compiler to refuse", () => {
  expect(translate(`asm volatile("" : "+r"(s.q), "+r"(s.qFull));`, 90)).toBe(";");
  const load = `asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];"
                 : "=f"(all[i].x), "=f"(all[i].y)
                 : "r"(slabs + (i * 4) * 8));`;
  expect(squeezed(translate(load, 90))).toBe("all[i] = vd::emulator::load_shared<float2>(slabs + (i * 4) * 8);");
  const unknown = `asm volatile("membar.gl;");`;
  expect(translate(unknown, 90)).toBe(unknown);
});
