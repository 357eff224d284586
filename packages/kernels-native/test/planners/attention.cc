// Rows of attention and of its gradients.
#include "rows.h"

namespace vd::planners {
namespace {

void print_attention_of_numbers(const cuda::DeviceInfo& device) {
  AttentionArgs frames = attention(512, 256, DType::f16);
  frames.q = frames.k = frames.v = frames.y = tensor({1, 2, 512, 256}, DType::f16);
  frames.heads = 16;
  frames.axis = AttentionAxis::time;
  print("half attention over two frames", attention_cuda_variants(frames, device, kExplain));
  AttentionArgs fewTokens = attention(64, 768, DType::f16);
  fewTokens.heads = 16;
  print("half attention of 64 tokens", attention_cuda_variants(fewTokens, device, kExplain));
  // Channels of a head, keys.
  for (const auto& [dim, keys] : {std::pair<int64_t, int64_t>{40, 77},
                                  {40, 4096},
                                  {80, 77},
                                  {80, 4096},
                                  {80, 2048},
                                  {96, 4096},
                                  {128, 512},
                                  {128, 1024},
                                  {128, 4096},
                                  {160, 77},
                                  {160, 4096}}) {
    AttentionArgs cross = attention(4096, 16 * dim, DType::f16);
    cross.heads = 16;
    cross.k = cross.v = tensor({1, 1, keys, 16 * dim}, DType::f16);
    const std::string name = "half attention d" + std::to_string(dim) + " to " + std::to_string(keys);
    print(name.c_str(), attention_cuda_variants(cross, device, kExplain));
    if (keys == 77) print(("invariant " + name).c_str(), attention_cuda_variants(cross, device, kInvariant));
  }
  AttentionArgs fewTiles = attention(1024, 5 * 64, DType::f16);
  fewTiles.heads = 5;
  print("half attention of 80 tiles", attention_cuda_variants(fewTiles, device, kExplain));
  print("invariant half attention of 80 tiles", attention_cuda_variants(fewTiles, device, kInvariant));
  AttentionArgs moreTiles = attention(1024, 8 * 64, DType::f16);
  moreTiles.heads = 8;
  print("half attention of 128 tiles", attention_cuda_variants(moreTiles, device, kExplain));
  AttentionArgs shorter = attention(512, 16 * 40, DType::f16);
  shorter.heads = 16;
  print("half attention d40 of 512", attention_cuda_variants(shorter, device, kExplain));
  AttentionArgs longer = attention(4800, 8 * 40, DType::f16);
  longer.heads = 8;
  print("half attention d40 of 4800", attention_cuda_variants(longer, device, kExplain));
  const auto forward = [&](const char* name, const AttentionArgs& args) { print(name, attention_cuda_variants(args, device, kExplain)); };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string name = " of " + std::string(kDTypeNames[static_cast<int>(type)]);
    AttentionArgs local = attention(100, 40, type);
    local.window[0] = 9;
    local.grid[0] = local.grid[1] = 1;
    forward(("window" + name).c_str(), local);
    print(("gradients" + name).c_str(), attention_backward_cuda_variants(attention_backward(100, 40, type), device, kExplain));
  }
  AttentionArgs causal = attention(100, 128, DType::f16);
  causal.causal = true;
  forward("causal attention", causal);
  AttentionArgs box = attention(100, 64, DType::bf16);
  box.window[1] = box.window[2] = 3;
  box.grid[0] = box.grid[1] = 10;
  forward("boxes of attention", box);
  AttentionArgs causalLarge = attention(100, 512, DType::f16);
  causalLarge.causal = true;
  forward("causal attention d512", causalLarge);
  AttentionArgs mixed = attention(100, 64, DType::f16);
  mixed.k.dtype = DType::f32;
  forward("attention of two types", mixed);
  AttentionArgs large = attention(100, 64, DType::f16);
  large.q.dims[2] = large.y.dims[2] = int64_t{1} << 32;
  forward("attention of many rows", large);
  AttentionBackwardArgs other = attention_backward(100, 64, DType::f16);
  other.dq.dtype = DType::bf16;
  print("gradients of two types", attention_backward_cuda_variants(other, device, kExplain));
  print("gradients d160", attention_backward_cuda_variants(attention_backward(100, 160, DType::f16), device, kExplain));
}

/** Attention over codes side by side, as one layer leaves those of queries, keys and values. */
AttentionF8Args attention_f8(AttentionAxis axis, int64_t frames, int64_t tokens, int64_t heads, int64_t dim) {
  AttentionF8Args a{};
  a.q = tensor({2, frames, tokens, heads * dim}, DType::f8e4m3);
  a.q.pitch = 3 * heads * dim;
  a.k = a.v = a.q;
  a.y = tensor({2, frames, tokens, heads * dim}, DType::f16);
  a.qScale = a.kScale = a.vScale = tensor({1, 1, 1, 1});
  a.axis = axis;
  a.heads = heads;
  a.scale = 0.125f;
  return a;
}

void print_attention_f8(const cuda::DeviceInfo& device) {
  const auto row = [&](const char* name, const AttentionF8Args& a) { print(name, attention_f8_cuda_variants(a, device, kExplain)); };
  using enum AttentionAxis;
  row("float8 attention over tokens", attention_f8(space, 25, 9216, 5, 64));
  row("float8 attention over tokens d40", attention_f8(space, 25, 9216, 8, 40));
  row("float8 attention over 25 frames", attention_f8(time, 25, 9216, 5, 64));
  row("float8 attention over 14 frames", attention_f8(time, 14, 9216, 5, 64));
  row("float8 attention over 40 frames", attention_f8(time, 40, 9216, 5, 64));
  AttentionF8Args odd = attention_f8(space, 25, 9216, 5, 64);
  odd.q.pitch += 8;
  row("float8 attention of odd rows", odd);
  for (const AttentionAxis axis : {space, time}) {
    const AttentionF8Args numbers = attention_f8(axis, 25, 9216, 5, 64);
    AttentionF8CodesArgs codes{};
    codes.q = codes.k = codes.v = numbers.q;
    codes.y = tensor({2, 25, 9216, 320}, DType::f8e4m3);
    codes.qScale = codes.kScale = codes.vScale = codes.yScale = tensor({1, 1, 1, 1});
    codes.axis = axis;
    codes.heads = numbers.heads;
    codes.scale = numbers.scale;
    const char* name = axis == space ? "float8 attention over tokens to codes" : "float8 attention over 25 frames to codes";
    print(name, attention_f8_codes_cuda_variants(codes, device, kExplain));
  }
}

/** Launches for gradients by some of the operands: of the first variant, with its workspace. */
void print_gradients(const char* name, const AttentionBackwardArgs& a, const cuda::DeviceInfo& device) {
  const cuda::Variant variant = attention_backward_cuda_variants(a, device, {}).variants.front();
  std::string line = std::to_string(variant.workspaceBytes);
  for (const cuda::Launch& launch : variant.launches) line += " " + launch.symbol;
  std::printf("%s\t%s\t\n", name, line.c_str());
}

/** Launches of attention whose heads are changed first: names, workspace, and what the second one reads q and k from. */
void print_staged(const cuda::DeviceInfo& device) {
  AttentionArgs a = attention(100, 64, DType::f16);
  a.normQ = tensor({64}, DType::f16);
  a.rotaryQ = a.rotaryK = tensor({100, 64});
  for (const cuda::Variant& variant : attention_cuda_variants(a, device, {}).variants) {
    std::string line = variant.name + " " + std::to_string(variant.workspaceBytes);
    for (const cuda::Launch& launch : variant.launches) {
      line += ", " + launch.symbol;
      for (const cuda::Relocation& r : launch.relocations)
        if (r.address.base == cuda::AddressBase::workspace) line += " +" + std::to_string(r.address.value);
      for (const cuda::TensorMapRequest& map : launch.maps)
        if (map.base.base == cuda::AddressBase::workspace) line += " map+" + std::to_string(map.base.value);
    }
    std::printf("staged\t%s\t\n", line.c_str());
  }
}

}  // namespace

void print_attention(const cuda::DeviceInfo& device) {
  print_attention_of_numbers(device);
  print_attention_f8(device);
  print_staged(device);
  AttentionBackwardArgs gradients = attention_backward(100, 64, DType::f16);
  gradients.dq = gradients.dk = Tensor{};
  print_gradients("gradients by v", gradients, device);
  gradients.dv = Tensor{};
  print_gradients("gradients by nothing", gradients, device);
}

}  // namespace vd::planners
