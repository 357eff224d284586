// Pictures resized, resampled and taken apart into planes, on threads of their own where they are large.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vd::cpu {

/** Pixels of red, green and blue, rows from the top. */
struct PictureSize {
  size_t width = 0, height = 0;
};

/** Which samples of a line make each sample of a result, and with what weights. */
struct PixelTaps {
  /** Of each result: its first sample, and how many they are, inside the line. */
  std::vector<int32_t> starts, counts;
  /** [size, room], in 2^-22. */
  std::vector<int32_t> weights;
  size_t size() const { return starts.size(); }
  /** Weights per result, those that are not used included. */
  size_t room() const { return weights.size() / starts.size(); }
};

/** As PixelTaps, with equally many samples for each result. */
struct PixelRuns {
  /** Of each result, so that all of its samples lie inside the line. */
  std::vector<int32_t> first;
  size_t length = 0;
  /** [size, length]. */
  std::vector<double> weights;
  size_t size() const { return first.size(); }
};

/** The numbers that 8-bit levels stand for: 256 of them. */
using Levels = std::vector<float>;

/** How many threads share the work: 0 for as many as it is worth. The bits are the same for any number. */
struct PictureThreads {
  int wanted = 0;
};

/** What becomes of numbers from -1 to 1, each operation rounded to float32: those from 0 to 1, less the mean of their channel, over its
 * spread. */
struct Normalisation {
  std::array<float, 3> mean, spread;
};

/** Resizes [H,W,3] along x, then along y, each rounded to 8 bits. An axis without taps keeps its size. result: [rows,columns,3]. */
void resize_picture(const uint8_t* pixels, PictureSize size, const PixelTaps* x, const PixelTaps* y, uint8_t* result,
                    PictureThreads threads);

/** Resamples [H,W,3], of which each level stands for a number, along x, which is rounded to float32, and then along y. Sums are taken in
 *  double in the order of the runs. result: [rows,columns,3], or planes [3,rows,columns] where they are normalised. */
void resample_bytes(const uint8_t* pixels, PictureSize size, const Levels& levels, const PixelRuns& x, const PixelRuns& y,
                    const Normalisation* normalisation, float* result, PictureThreads threads);

/** Does what resample_bytes does with planes [3,H,W] of numbers from 0 to 1, which it takes from -1 to 1. */
void resample_planes(const float* planes, PictureSize size, const PixelRuns& x, const PixelRuns& y, const Normalisation* normalisation,
                     float* result, PictureThreads threads);

/** Writes the numbers that [count,3] in 8 bits stand for to planes [3,count]; adds: adds them, rounded to float32. */
void bytes_to_planes(const uint8_t* pixels, size_t count, const Levels& levels, bool adds, float* planes, PictureThreads threads);

}  // namespace vd::cpu
