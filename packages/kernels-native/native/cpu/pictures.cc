#include "pictures.h"

#include <algorithm>
#include <memory>

#include "../core/kept_memory.h"
#include "../core/processors.h"
#include "../core/share_out.h"

namespace vd::cpu {
namespace {

constexpr int kMostThreads = 8;
/** Multiplications that a thread needs a few times its start for. */
constexpr double kWorthAThread = 1 << 19;
/** Bands of rows per thread, so that one that is late holds nobody up. */
constexpr size_t kBandsPerThread = 4;

constexpr int kPrecisionBits = 22;
constexpr uint32_t kHalf = uint32_t{1} << (kPrecisionBits - 1);

/** A range of rows. */
struct Band {
  size_t begin = 0, end = 0;
};

/** Rows in bands that threads share. */
class Bands {
 public:
  /** work: multiplications in all. */
  Bands(size_t rows, double work, PictureThreads threads) : rows_(rows), threads_(threads.wanted > 0 ? threads.wanted : threads_for(work)) {
    const size_t most = threads_ == 1 ? 1 : kBandsPerThread * static_cast<size_t>(threads_);
    perBand_ = (rows + most - 1) / most;
  }

  size_t count() const { return (rows_ + perBand_ - 1) / perBand_; }

  /** Calls `body(band, index)` for each band. body: throws nothing. */
  template <class Body> void each(const Body& body) const {
    share_out(static_cast<int64_t>(count()), threads_, [&](int64_t index) {
      const size_t begin = static_cast<size_t>(index) * perBand_;
      body(Band{begin, std::min(begin + perBand_, rows_)}, static_cast<size_t>(index));
    });
  }

 private:
  static int threads_for(double work) {
    const int most = std::min(usable_processors(), kMostThreads);
    return static_cast<int>(std::clamp(work / kWorthAThread, 1.0, static_cast<double>(most)));
  }

  size_t rows_, perBand_ = 1;
  int threads_;
};

/** A row of `numbers` for each band, so that threads allocate nothing. */
template <class T> class BandRows {
 public:
  BandRows(const Bands& bands, size_t numbers) : numbers_(numbers), values_(new T[bands.count() * numbers]) {}
  T* of(size_t band) const { return values_.get() + band * numbers_; }

 private:
  size_t numbers_;
  std::unique_ptr<T[]> values_;
};

/** In floating point, where no size overflows. */
double product(size_t a, size_t b, size_t c) { return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c); }

/** Sums are taken without a sign, where an overflow is no error, and are those of 32 bits with one. */
uint8_t rounded(uint32_t sum) { return static_cast<uint8_t>(std::clamp(static_cast<int32_t>(sum) >> kPrecisionBits, 0, 255)); }

/** [W,3] to [columns,3]. */
void resize_row(const uint8_t* row, const PixelTaps& taps, uint8_t* result) {
  for (size_t x = 0; x < taps.size(); ++x) {
    const uint8_t* pixel = row + static_cast<size_t>(taps.starts[x]) * 3;
    const int32_t* weights = taps.weights.data() + x * taps.room();
    uint32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int32_t k = 0; k < taps.counts[x]; ++k, pixel += 3) {
      const auto weight = static_cast<uint32_t>(weights[k]);
      red += pixel[0] * weight;
      green += pixel[1] * weight;
      blue += pixel[2] * weight;
    }
    result[3 * x] = rounded(red);
    result[3 * x + 1] = rounded(green);
    result[3 * x + 2] = rounded(blue);
  }
}

void resize_width(const uint8_t* pixels, PictureSize size, const PixelTaps& taps, uint8_t* result, PictureThreads threads) {
  const Bands bands(size.height, product(size.height, taps.size() * 3, taps.room()), threads);
  bands.each([&](Band band, size_t) {
    for (size_t y = band.begin; y < band.end; ++y) resize_row(pixels + y * size.width * 3, taps, result + y * taps.size() * 3);
  });
}

/** Row `y` of the result from rows of `numbers`. */
void join_bytes(const uint8_t* rows, size_t numbers, const PixelTaps& taps, size_t y, uint32_t* sums, uint8_t* result) {
  std::fill_n(sums, numbers, kHalf);
  const uint8_t* row = rows + static_cast<size_t>(taps.starts[y]) * numbers;
  for (int32_t k = 0; k < taps.counts[y]; ++k, row += numbers) {
    const auto weight = static_cast<uint32_t>(taps.weights[y * taps.room() + static_cast<size_t>(k)]);
    for (size_t i = 0; i < numbers; ++i) sums[i] += row[i] * weight;
  }
  for (size_t i = 0; i < numbers; ++i) result[i] = rounded(sums[i]);
}

void resize_height(const uint8_t* pixels, size_t width, const PixelTaps& taps, uint8_t* result, PictureThreads threads) {
  const size_t numbers = width * 3;
  const Bands bands(taps.size(), product(taps.size(), numbers, taps.room()), threads);
  const BandRows<uint32_t> sums(bands, numbers);
  bands.each([&](Band band, size_t index) {
    for (size_t y = band.begin; y < band.end; ++y) join_bytes(pixels, numbers, taps, y, sums.of(index), result + y * numbers);
  });
}

/** [W,3] to [columns,3]. */
void resample_row(const float* row, const PixelRuns& runs, float* result) {
  for (size_t x = 0; x < runs.size(); ++x) {
    const float* pixel = row + static_cast<size_t>(runs.first[x]) * 3;
    const double* weights = runs.weights.data() + x * runs.length;
    double red = 0, green = 0, blue = 0;
    for (size_t k = 0; k < runs.length; ++k, pixel += 3) {
      red += weights[k] * static_cast<double>(pixel[0]);
      green += weights[k] * static_cast<double>(pixel[1]);
      blue += weights[k] * static_cast<double>(pixel[2]);
    }
    result[3 * x] = static_cast<float>(red);
    result[3 * x + 1] = static_cast<float>(green);
    result[3 * x + 2] = static_cast<float>(blue);
  }
}

/** Sums of row `y` of the result from rows of `numbers`. */
void join_floats(const float* rows, size_t numbers, const PixelRuns& runs, size_t y, double* sums) {
  std::fill_n(sums, numbers, 0.0);
  const float* row = rows + static_cast<size_t>(runs.first[y]) * numbers;
  for (size_t k = 0; k < runs.length; ++k, row += numbers) {
    const double weight = runs.weights[y * runs.length + k];
    for (size_t i = 0; i < numbers; ++i) sums[i] += weight * static_cast<double>(row[i]);
  }
}

/** A row of sums as one of planes of `area`. */
void normalise_row(const double* sums, size_t width, const Normalisation& normalisation, size_t area, float* planes) {
  for (size_t channel = 0; channel < 3; ++channel) {
    const float mean = normalisation.mean[channel], spread = normalisation.spread[channel];
    float* row = planes + channel * area;
    for (size_t x = 0; x < width; ++x) row[x] = ((static_cast<float>(sums[3 * x + channel]) + 1) / 2 - mean) / spread;
  }
}

/** Both passes. copy_row: writes row `y` of the picture, [W,3], to where it is told. */
template <class CopyRow>
void resample(PictureSize size, const PixelRuns& x, const PixelRuns& y, const Normalisation* normalisation, float* result,
              PictureThreads threads, const CopyRow& copy_row) {
  const size_t numbers = x.size() * 3;
  const auto memory = borrow_memory(size.height * numbers * sizeof(float));
  auto* const narrow = reinterpret_cast<float*>(memory.get());
  const Bands across(size.height, product(size.height, 3, x.size() * x.length + size.width), threads);
  const BandRows<float> rows(across, size.width * 3);
  across.each([&](Band band, size_t index) {
    for (size_t i = band.begin; i < band.end; ++i) {
      copy_row(i, rows.of(index));
      resample_row(rows.of(index), x, narrow + i * numbers);
    }
  });
  const Bands down(y.size(), product(y.size(), numbers, y.length), threads);
  const BandRows<double> sums(down, numbers);
  down.each([&](Band band, size_t index) {
    for (size_t i = band.begin; i < band.end; ++i) {
      double* const row = sums.of(index);
      join_floats(narrow, numbers, y, i, row);
      if (normalisation != nullptr) normalise_row(row, x.size(), *normalisation, y.size() * x.size(), result + i * x.size());
      else std::transform(row, row + numbers, result + i * numbers, [](double sum) { return static_cast<float>(sum); });
    }
  });
}

/** Numbers in [0, 1] as numbers in [-1, 1], each operation rounded: planes of `area` to [W,3]. */
void signed_row(const float* planes, size_t area, size_t width, float* row) {
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t x = 0; x < width; ++x) row[3 * x + channel] = 2 * planes[channel * area + x] - 1;
}

}  // namespace

void resize_picture(const uint8_t* pixels, PictureSize size, const PixelTaps* x, const PixelTaps* y, uint8_t* result,
                    PictureThreads threads) {
  if (x == nullptr && y == nullptr) {
    std::copy_n(pixels, size.width * size.height * 3, result);
  } else if (y == nullptr) {
    resize_width(pixels, size, *x, result, threads);
  } else if (x == nullptr) {
    resize_height(pixels, size.width, *y, result, threads);
  } else {
    const auto memory = borrow_memory(size.height * x->size() * 3);
    auto* const narrow = reinterpret_cast<uint8_t*>(memory.get());
    resize_width(pixels, size, *x, narrow, threads);
    resize_height(narrow, x->size(), *y, result, threads);
  }
}

void resample_bytes(const uint8_t* pixels, PictureSize size, const Levels& levels, const PixelRuns& x, const PixelRuns& y,
                    const Normalisation* normalisation, float* result, PictureThreads threads) {
  resample(size, x, y, normalisation, result, threads, [&](size_t i, float* row) {
    const uint8_t* from = pixels + i * size.width * 3;
    for (size_t at = 0; at < size.width * 3; ++at) row[at] = levels[from[at]];
  });
}

void resample_planes(const float* planes, PictureSize size, const PixelRuns& x, const PixelRuns& y, const Normalisation* normalisation,
                     float* result, PictureThreads threads) {
  resample(size, x, y, normalisation, result, threads,
           [&](size_t i, float* row) { signed_row(planes + i * size.width, size.width * size.height, size.width, row); });
}

void bytes_to_planes(const uint8_t* pixels, size_t count, const Levels& levels, bool adds, float* planes, PictureThreads threads) {
  // A number takes about a third of a multiplication's time.
  const Bands bands(count, product(count, 1, 1), threads);
  const auto fill = [&](Band band, const auto& put) {
    for (size_t i = band.begin; i < band.end; ++i)
      for (size_t channel = 0; channel < 3; ++channel) put(planes[channel * count + i], levels[pixels[3 * i + channel]]);
  };
  bands.each([&](Band band, size_t) {
    if (adds) fill(band, [](float& to, float value) { to += value; });
    else fill(band, [](float& to, float value) { to = value; });
  });
}

}  // namespace vd::cpu
