// Rows of linear layers and convolutions in 8 bits, and of what rounds their operands.
#include "rows.h"

namespace vd::planners {

void print_products_in_8_bits(const cuda::DeviceInfo& device) {
  print("quantize", quantize_cuda_variants(quantize(256, 768, DType::f16), device, kExplain));
  print("quantize a large tensor", quantize_cuda_variants(quantize(4096, 192, DType::f16), device, kExplain));
  print("quantize 4 channels", quantize_cuda_variants(quantize(256, 4, DType::f32), device, kExplain));
  QuantizeArgs rows = quantize(256, 768, DType::f16);
  rows.per = ScalesPer::row;
  rows.scales = tensor({1, 2, 256, 1});
  print("quantize rows", quantize_cuda_variants(rows, device, kExplain));
  for (const DType type : {DType::f8e4m3, DType::i8}) {
    const std::string name = type == DType::i8 ? "int8 " : "float8 ";
    for (const int64_t size : {8, 512}) {
      const ConvQ8Args small = conv_q8(size, 1280, 1280, type);
      print((name + "conv of 1280 by " + std::to_string(size)).c_str(), conv_q8_cuda_variants(small, device, kExplain));
      print((name + "invariant conv of 1280 by " + std::to_string(size)).c_str(), conv_q8_cuda_variants(small, device, kInvariant));
    }
    print((name + "conv of 128 to 128").c_str(), conv_q8_cuda_variants(conv_q8(256, 128, 128, type), device, kExplain));
    ConvQ8Args measured = conv_q8(256, 512, 512, type);
    measured.moments = tensor({1, 1, 512, 2});
    print((name + "measured conv").c_str(), conv_q8_cuda_variants(measured, device, kExplain));
    print((name + "invariant measured conv").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured = conv_q8(256, 128, 128, type);
    measured.moments = tensor({1, 1, 128, 2});
    print((name + "invariant measured conv of 128").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured.weight = tensor({128, 128, 3, 1, 1}, type);
    measured.padding[0] = measured.padding[1] = 1;
    for (int i = 2; i < 6; ++i) measured.padding[i] = 0;
    print((name + "invariant measured conv over frames").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured = conv_q8(256, 320, 320, type);
    measured.moments = tensor({1, 1, 320, 2});
    print((name + "invariant measured conv of 320").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    // SVD's decoder, whose largest upsampling convolution has frames of 288 by 512.
    ConvQ8Args doubling = transposed_conv_q8({25, 288, 512, 256}, 256, type);
    print((name + "doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    doubling.moments = tensor({1, 25, 256, 2});
    print((name + "measured doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "invariant measured doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kInvariant));
    doubling.residual = doubling.y;
    print((name + "doubling conv with a residual").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "doubling conv to codes").c_str(),
          conv_q8_codes_cuda_variants(transposed_conv_q8_codes({25, 288, 512, 256}, 256, type), device, kExplain));
    doubling = transposed_conv_q8({2, 9, 11, 320}, 320, type);
    doubling.moments = tensor({1, 2, 320, 2});
    print((name + "doubling conv of 320").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "linear of 77 tokens").c_str(), linear_q8_cuda_variants(linear_q8(77, 5120, 1280, type), device, kExplain));
    LinearQ8Args framed = linear_q8(576, 5120, 1280, type);
    for (Tensor* t : {&framed.x, &framed.y}) {
      t->dims[1] = 576 / 64;
      t->dims[2] = 64;
    }
    framed.xScale = tensor({1, 1, 1, 1});
    framed.frameBias = tensor({1, 576 / 64, 1280}, DType::f16);
    print((name + "linear with a bias for each 64 rows").c_str(), linear_q8_cuda_variants(framed, device, kExplain));
    framed.frameBias = tensor({1, 1, 1280}, DType::f16);
    print((name + "linear with one bias").c_str(), linear_q8_cuda_variants(framed, device, kExplain));
    // SVD's temporal convolutions at a sixteenth of the size, whose boxes lie in several frames.
    ConvQ8Args frames = conv_q8(8, 1280, 1280, type);
    frames.x = tensor({2, 25, 9, 16, 1280}, type);
    frames.y = tensor({2, 25, 9, 16, 1280}, DType::f16);
    frames.weight = tensor({1280, 1280, 3, 1, 1}, type);
    frames.padding[0] = frames.padding[1] = 1;
    for (int i = 2; i < 6; ++i) frames.padding[i] = 0;
    for (const int64_t biases : {1, 25}) {
      frames.frameBias = tensor({2, biases, 1280}, DType::f16);
      print((name + "conv over frames with " + std::to_string(biases) + " biases a clip").c_str(),
            conv_q8_cuda_variants(frames, device, kExplain));
    }
    print((name + "linear in blocks").c_str(), linear_q8_cuda_variants(linear_q8(77, 5120, 1280, type, 40), device, kExplain));
    print((name + "linear of one block").c_str(), linear_q8_cuda_variants(linear_q8(77, 128, 1280, type), device, kExplain));
    LinearQ8Args gated = linear_q8(77, 5120, 2560, type);
    gated.act = Activation::geglu;
    gated.y = tensor({1, 1, 77, 1280}, DType::f16);
    print((name + "linear geglu").c_str(), linear_q8_cuda_variants(gated, device, kExplain));
    for (const int64_t channels : {1280, 1408})
      print((name + "linear of " + std::to_string(channels)).c_str(),
            linear_q8_cuda_variants(linear_q8(28800, channels, 1280, type), device, kExplain));
    LinearQ8CodesArgs codes = linear_q8_codes(28800, 1280, 10240, type);
    print((name + "codes").c_str(), linear_q8_codes_cuda_variants(codes, device, kExplain));
    codes.y = tensor({1, 1, 28800, 5120}, type == DType::i8 ? DType::f8e4m3 : DType::i8);
    print((name + "codes of the other type").c_str(), linear_q8_codes_cuda_variants(codes, device, kExplain));
    LinearQ8CodesArgs ragged = linear_q8_codes(190, 256, 400, type);
    ragged.y.pitch = 208;
    print((name + "codes of 200 columns").c_str(), linear_q8_codes_cuda_variants(ragged, device, kExplain));
    print((name + "codes of 1408").c_str(), linear_q8_codes_cuda_variants(linear_q8_codes(28800, 1408, 10240, type), device, kExplain));
  }
}

}  // namespace vd::planners
