// Moments of a convolution's result, read again behind its fast path: sums and squares in double, in blocks of pixels of fixed size, so
// that they do not depend on the number of threads.
#include "result_moments.h"

#include <algorithm>

#include "moment_kernels.h"

namespace vd::cpu {
namespace {

class ResultMoments final : public PreparedRow {
 public:
  ResultMoments(std::unique_ptr<PreparedRow> convolution, const Tensor& y, const Tensor& moments, Isa isa)
      : convolution_(std::move(convolution)), y_(y), moments_(moments), kernels_(moment_kernels_of(isa)) {}

  const char* name() const override { return convolution_->name(); }
  size_t scratch_bytes() const override { return std::max(convolution_->scratch_bytes(), 4 * y_.channels() * sizeof(double)); }
  size_t shared_bytes() const override { return convolution_->shared_bytes(); }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    convolution_->run(pool, scratch);
    pool.parallel_for(y_.dims[0] * y_.dims[1],
                      [&](int64_t frame, int worker) { measure(frame, reinterpret_cast<double*>(scratch.of(worker))); });
  }

 private:
  void measure(int64_t frame, double* sums) const {
    constexpr int64_t kBlockPixels = 256;
    const int64_t channels = y_.channels(), pixels = y_.dims[2] * y_.dims[3];
    double *totals = sums, *squares = sums + channels, *block = sums + 2 * channels;
    std::fill_n(totals, 2 * channels, 0.0);
    for (int64_t first = 0; first < pixels; first += kBlockPixels) {
      NormRows rows{};
      rows.x = y_.as<float>() + (frame * pixels + first) * y_.pitch;
      rows.xPitch = y_.pitch;
      rows.numPixels = std::min(kBlockPixels, pixels - first);
      rows.channels = channels;
      kernels_.channel_sums(rows, block, block + channels);
      for (int64_t i = 0; i < 2 * channels; ++i) totals[i] += block[i];
    }
    const auto count = static_cast<double>(pixels);
    for (int64_t c = 0; c < channels; ++c) {
      const double mean = totals[c] / count;
      float* out = moments_.as<float>() + (frame * channels + c) * moments_.pitch;
      out[0] = static_cast<float>(mean);
      out[1] = static_cast<float>(std::max(squares[c] / count - mean * mean, 0.0));
    }
  }

  std::unique_ptr<PreparedRow> convolution_;
  Tensor y_, moments_;
  const MomentKernels& kernels_;
};

}  // namespace

std::unique_ptr<PreparedRow> with_moments(std::unique_ptr<PreparedRow> convolution, const Tensor& y, const Tensor& moments, Isa isa) {
  if (!convolution || !moments.present()) return convolution;
  return std::make_unique<ResultMoments>(std::move(convolution), y, moments, isa);
}

}  // namespace vd::cpu
