// Statistics and normalisation of channels-last rows. Included inside namespace vd::cpu::<isa>.

template <int VECS>
static void channel_sums_of(const NormRows& rows, int64_t channel, int64_t n, double* sums, double* squares) {
  Moments moments[VECS];
  for (int v = 0; v < VECS; ++v) moments[v] = Moments::zero();
  const float* x = rows.x + channel;
  for (int64_t p = 0; p < rows.numPixels; ++p, x += rows.xPitch) {
#pragma GCC unroll 4
    for (int v = 0; v < VECS; ++v) {
      __builtin_prefetch(x + v * Vec::kWidth + kAhead);
      moments[v].add(load_n(x + v * Vec::kWidth, n - v * Vec::kWidth));
    }
  }
  double sumLanes[VECS * Vec::kWidth], squareLanes[VECS * Vec::kWidth];
  for (int v = 0; v < VECS; ++v) moments[v].store(sumLanes + v * Vec::kWidth, squareLanes + v * Vec::kWidth);
  for (int64_t c = 0; c < n && c < VECS * Vec::kWidth; ++c) {
    sums[channel + c] = sumLanes[c];
    squares[channel + c] = squareLanes[c];
  }
}

static void channel_sums(const NormRows& rows, double* sums, double* squares) {
  constexpr int64_t kBlock = Vec::kMaxVecs * Vec::kWidth;
  int64_t c = 0;
  for (; c + kBlock <= rows.channels; c += kBlock) channel_sums_of<Vec::kMaxVecs>(rows, c, kBlock, sums, squares);
  for (; c < rows.channels; c += Vec::kWidth) channel_sums_of<1>(rows, c, rows.channels - c, sums, squares);
}

template <Activation ACT>
static void scale_channels_of(const NormRows& rows, const float* center, const float* scale, const float* offset) {
  for (int64_t p = 0; p < rows.numPixels; ++p) {
    const float* x = rows.x + p * rows.xPitch;
    float* y = rows.y + p * rows.yPitch;
    for (int64_t c = 0; c < rows.channels; c += Vec::kWidth) {
      const int64_t n = rows.channels - c;
      __builtin_prefetch(x + c + kAhead);
      __builtin_prefetch(y + c + kAhead, 1);
      const Vec centered = load_n(x + c, n) - load_n(center + c, n);
      store_n(activate<ACT>(Vec::fma(centered, load_n(scale + c, n), load_n(offset + c, n))), y + c, n);
    }
  }
}

static void scale_channels(const NormRows& rows, const float* center, const float* scale, const float* offset,
                           Activation act) {
  switch (act) {
    case Activation::silu: return scale_channels_of<Activation::silu>(rows, center, scale, offset);
    case Activation::gelu: return scale_channels_of<Activation::gelu>(rows, center, scale, offset);
    case Activation::gelu_tanh: return scale_channels_of<Activation::gelu_tanh>(rows, center, scale, offset);
    case Activation::quick_gelu: return scale_channels_of<Activation::quick_gelu>(rows, center, scale, offset);
    default: return scale_channels_of<Activation::none>(rows, center, scale, offset);
  }
}

static void layer_norm_row(const float* x, float* y, int64_t channels, const float* weight, const float* bias,
                           float eps) {
  const float count = static_cast<float>(channels);
  Vec total = Vec::zero();
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    __builtin_prefetch(x + c + kAhead);
    total = total + load_n(x + c, channels - c);
  }
  const Vec center = Vec::all(total.sum() / count);
  // What rounding left in the mean shows as the mean of the differences, and is taken out as well.
  Vec rest = Vec::zero(), square = Vec::zero();
  int64_t c = 0;
  for (; c + Vec::kWidth <= channels; c += Vec::kWidth) {
    const Vec d = Vec::load(x + c) - center;
    rest = rest + d;
    square = Vec::fma(d, d, square);
  }
  float restSum = rest.sum(), squareSum = square.sum();
  for (; c < channels; ++c) {
    const float d = x[c] - total.sum() / count;
    restSum += d;
    squareSum += d * d;
  }
  const float correction = restSum / count;
  const float variance = squareSum / count - correction * correction;
  const Vec shift = Vec::all(correction);
  const Vec rstd = Vec::all(1.0f / __builtin_sqrtf((variance > 0 ? variance : 0) + eps));
  for (c = 0; c < channels; c += Vec::kWidth) {
    const int64_t n = channels - c;
    const Vec d = (load_n(x + c, n) - center - shift) * rstd;
    store_n(Vec::fma(d, load_n(weight + c, n), load_n(bias + c, n)), y + c, n);
  }
}

static void layer_norm_rows(const NormRows& rows, const float* weight, const float* bias, float eps) {
  for (int64_t p = 0; p < rows.numPixels; ++p) {
    layer_norm_row(rows.x + p * rows.xPitch, rows.y + p * rows.yPitch, rows.channels, weight, bias, eps);
  }
}
