#include "normals.h"

#include <cstring>
#include <utility>

#include "../cpu/normals.h"
#include "arguments.h"
#include "async.h"
#include "shared_bytes.h"

namespace vd::binding {
namespace {

using cpu::MersenneTwister;

/** The engine's words, then the position of the next one. */
constexpr size_t kStateWords = MersenneTwister::kWords + 1;

/** A copy of the engine that `value`, a Uint32Array, holds. */
MersenneTwister read_engine(const Napi::Value& value, const char* where) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint32_array)
    wrong_type(where, "a Uint32Array", value);
  const auto bytes = read_bytes(value, where);
  if (bytes.size() != kStateWords * sizeof(uint32_t))
    throw Error(ErrorCode::attr, where, std::to_string(kStateWords) + " words", std::to_string(bytes.size()) + " bytes");
  MersenneTwister engine;
  uint32_t next = 0;
  std::memcpy(engine.words, bytes.data(), sizeof engine.words);
  std::memcpy(&next, bytes.data() + sizeof engine.words, sizeof next);
  if (next > MersenneTwister::kWords)
    throw Error(ErrorCode::attr, where, "a position up to " + std::to_string(MersenneTwister::kWords), std::to_string(next));
  engine.next = next;
  return engine;
}

Napi::Value engine_to_js(Napi::Env env, const MersenneTwister& engine) {
  auto state = Napi::Uint32Array::New(env, kStateWords);
  for (size_t i = 0; i < MersenneTwister::kWords; ++i) state[i] = engine.words[i];
  state[MersenneTwister::kWords] = static_cast<uint32_t>(engine.next);
  return state;
}

SharedBytes read_shared_floats(const Napi::Value& value, const char* where) {
  constexpr const char* kExpected = "a Float32Array over a SharedArrayBuffer";
  if (!is_float32_array(value)) wrong_type(where, kExpected, value);
  if (!SharedBytes::has(value)) throw Error(ErrorCode::attr, where, kExpected, "one over memory that can be taken away");
  return SharedBytes::of(value, where);
}

float read_scale(const Napi::Value& value) {
  if (!value.IsNumber()) wrong_type("fillNormals scale", "a number", value);
  return value.As<Napi::Number>().FloatValue();  // An infinite one gives infinite numbers, as in JavaScript.
}

DType read_float_dtype(const Napi::Value& value) {
  const auto dtype = static_cast<DType>(read_size(value, "fillNormals dtype", kNumDTypes - 1));
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    throw Error(ErrorCode::dtype, "fillNormals dtype", "f32, f16 or bf16", kDTypeNames[static_cast<int>(dtype)]);
  return dtype;
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

void check_sizes(const SharedBytes& values, const SharedBytes& mean) {
  if (values.bytes.size() < cpu::kNormalBlock * sizeof(float))
    throw Error(ErrorCode::attr, "fillNormals values", "at least " + std::to_string(cpu::kNormalBlock) + " numbers",
                std::to_string(values.bytes.size() / sizeof(float)));
  if (!mean.owner) return;
  if (mean.bytes.size() != values.bytes.size())
    throw Error(ErrorCode::shape, "fillNormals mean", std::to_string(values.bytes.size() / sizeof(float)) + " numbers",
                std::to_string(mean.bytes.size() / sizeof(float)));
  if (overlap(values.bytes, mean.bytes)) throw Error(ErrorCode::layout, "fillNormals mean", "memory of its own", "memory of the values");
}

}  // namespace

Napi::Value mersenne_draws(const Napi::CallbackInfo& info) {
  MersenneTwister engine = read_engine(info[0], "mersenneDraws state");
  auto draws = Napi::Uint32Array::New(info.Env(), MersenneTwister::kWords);
  engine.draws(cpu::normal_kernels_of(cpu::best_isa()), draws.Data());
  auto result = Napi::Object::New(info.Env());
  result["state"] = engine_to_js(info.Env(), engine);
  result["draws"] = draws;
  return result;
}

Napi::Value fill_normals(const Napi::CallbackInfo& info) {
  const MersenneTwister before = read_engine(info[0], "fillNormals state");
  const SharedBytes values = read_shared_floats(info[1], "fillNormals values");
  cpu::NormalShape shape;
  shape.scale = read_scale(info[2]);
  shape.dtype = read_float_dtype(info[3]);
  const SharedBytes mean = info[4].IsUndefined() ? SharedBytes{} : read_shared_floats(info[4], "fillNormals mean");
  const cpu::Isa isa = read_isa(info[5], "fillNormals isa");
  check_sizes(values, mean);
  if (mean.owner) shape.mean = reinterpret_cast<const float*>(mean.bytes.data());
  auto work = [before, values, mean, shape, isa] {
    MersenneTwister engine = before;
    cpu::fill_normals(engine, reinterpret_cast<float*>(values.bytes.data()), values.bytes.size() / sizeof(float), shape, isa);
    return engine;
  };
  return PromiseWorker<MersenneTwister>::start(info.Env(), std::move(work), engine_to_js);
}

}  // namespace vd::binding
