// Which keys a query sees by their places in their sequence alone: the causal limit and windows. For host and device code.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define VD_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define VD_HOST_DEVICE inline
#endif

namespace vd::device {

/** Where an element of a sequence lies on its grid. */
struct AttentionPlace {
  int32_t frame, row, column;
};

/** The causal limit, and windows over a grid of frames, rows and columns. Ranges of elements are given by their first and
 *  last one. */
struct AttentionSight {
  int32_t causal;
  int32_t window[3];      // a key is seen if it lies less than so many frames, rows, columns away; 0: however many
  int32_t rows, columns;  // of a frame

  VD_HOST_DEVICE bool has_window() const { return window[0] > 0 || window[1] > 0 || window[2] > 0; }

  VD_HOST_DEVICE AttentionPlace place(int32_t i) const {
    if (rows * columns == 1) return {i, 0, 0};
    const int32_t line = i / columns;
    return {line / rows, line % rows, i % columns};
  }

  VD_HOST_DEVICE static bool near(int32_t a, int32_t b, int32_t reach) { return reach == 0 || (a < b ? b - a : a - b) < reach; }

  VD_HOST_DEVICE bool in_window(const AttentionPlace& a, const AttentionPlace& b) const {
    return near(a.frame, b.frame, window[0]) && near(a.row, b.row, window[1]) && near(a.column, b.column, window[2]);
  }

  VD_HOST_DEVICE bool sees(int32_t query, int32_t key) const {
    if (causal && key > query) return false;
    return !has_window() || in_window(place(query), place(key));
  }

  /** The first element that may lie in the window of one of first..last. */
  VD_HOST_DEVICE int32_t window_begin(int32_t first, int32_t last) const {
    if (!has_window()) return 0;
    const AttentionPlace a = place(first), b = place(last);
    const bool sameFrame = a.frame == b.frame, sameRow = sameFrame && a.row == b.row;
    const int32_t frame = lowest(a.frame, window[0]);
    const int32_t row = sameFrame ? lowest(a.row, window[1]) : 0;
    const int32_t column = sameRow ? lowest(a.column, window[2]) : 0;
    return (frame * rows + row) * columns + column;
  }

  /** One behind the last element that may lie in the window of one of first..last, of a sequence of `count`. */
  VD_HOST_DEVICE int32_t window_end(int32_t first, int32_t last, int32_t count) const {
    if (!has_window() || count == 0) return count;
    const AttentionPlace a = place(first), b = place(last), end = place(count - 1);
    const bool sameFrame = a.frame == b.frame, sameRow = sameFrame && a.row == b.row;
    const int32_t frame = highest(b.frame, window[0], end.frame);
    if (frame > end.frame) return count;
    const int32_t row = sameFrame ? highest(b.row, window[1], rows - 1) : rows - 1;
    const int32_t column = sameRow ? highest(b.column, window[2], columns - 1) : columns - 1;
    const int32_t behind = (frame * rows + row) * columns + column + 1;
    return behind < count ? behind : count;
  }

  /** The first of the keys that queries first..last may see. */
  VD_HOST_DEVICE int32_t key_begin(int32_t first, int32_t last) const { return window_begin(first, last); }
  /** One behind the last of the keys that queries first..last may see. */
  VD_HOST_DEVICE int32_t key_end(int32_t first, int32_t last, int32_t numKeys) const {
    const int32_t end = window_end(first, last, numKeys);
    return causal && last + 1 < end ? last + 1 : end;
  }
  /** The first of the queries that may see one of keys first..last. */
  VD_HOST_DEVICE int32_t query_begin(int32_t first, int32_t last) const {
    const int32_t begin = window_begin(first, last);
    return causal && first > begin ? first : begin;
  }
  /** One behind the last of the queries that may see one of keys first..last. */
  VD_HOST_DEVICE int32_t query_end(int32_t first, int32_t last, int32_t numQueries) const { return window_end(first, last, numQueries); }

  /** False only if no query of q0..q1 sees a key of k0..k1. */
  VD_HOST_DEVICE bool may_see(int32_t q0, int32_t q1, int32_t k0, int32_t k1) const {
    if (causal && k0 > q1) return false;
    if (!has_window()) return true;
    const AttentionPlace a = place(q0), b = place(q1), c = place(k0), d = place(k1);
    if (!overlap(a.frame, b.frame, c.frame, d.frame, window[0])) return false;
    if (a.frame != b.frame || c.frame != d.frame) return true;
    if (!overlap(a.row, b.row, c.row, d.row, window[1])) return false;
    return a.row != b.row || c.row != d.row || overlap(a.column, b.column, c.column, d.column, window[2]);
  }

  /** True only if every query of q0..q1 sees every key of k0..k1. */
  VD_HOST_DEVICE bool all_see(int32_t q0, int32_t q1, int32_t k0, int32_t k1) const {
    if (causal && k1 > q0) return false;
    if (!has_window()) return true;
    if (window[1] > 0 || window[2] > 0) return false;
    const int32_t a = place(q0).frame, b = place(q1).frame, c = place(k0).frame, d = place(k1).frame;
    return near(a, d, window[0]) && near(b, c, window[0]);
  }

 private:
  VD_HOST_DEVICE static int32_t lowest(int32_t at, int32_t reach) { return reach == 0 || reach > at ? 0 : at - reach + 1; }
  VD_HOST_DEVICE static int32_t highest(int32_t at, int32_t reach, int32_t most) {
    if (at > most) return at;
    return reach == 0 || reach > most - at ? most : at + reach - 1;
  }
  /** True if an element of a..b lies less than `reach` away from one of c..d; 0: always. */
  VD_HOST_DEVICE static bool overlap(int32_t a, int32_t b, int32_t c, int32_t d, int32_t reach) {
    if (reach == 0) return true;
    if (c > b) return c - b < reach;
    return a <= d || a - d < reach;
  }
};

/** Of the arguments of attention or its gradients. */
template <class Args> AttentionSight attention_sight(const Args& a) {
  const auto at = [](int64_t value) { return static_cast<int32_t>(value); };
  return {a.causal, {at(a.window[0]), at(a.window[1]), at(a.window[2])}, at(a.grid[0]), at(a.grid[1])};
}

}  // namespace vd::device
