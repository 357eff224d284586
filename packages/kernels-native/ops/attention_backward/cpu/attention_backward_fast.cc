// Attention's gradients, block by block: probabilities are computed again from the log-sum-exp, so that memory grows with the
// sequence and not with its square (https://arxiv.org/abs/2205.14135, algorithm 4).
//
// A task takes one head of all queries that share keys, so that no sum is split by thread and none is added to by two. It walks
// over its keys in blocks, each staged once for all the queries that see it: as float32, and transposed for the products with
// queries. Gradients are summed in its own memory and written once.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "../../../device/attention_sight.h"
#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"

#include "attention_backward_kernels.h"

namespace vd::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
/** A block's two matrices of query-key pairs, 24 KiB each, stay in the second-level cache. Queries are a multiple of the rows of a tile. */
constexpr int64_t kQueries = 96, kKeys = 64;
constexpr int64_t kAlignFloats = 16;

/** Queries that see the same keys, along the axis. */
struct Sequence {
  int64_t firstQuery, numQueries, firstKey, numKeys;
};

/** Rows of one head along the axis; `step` in bytes. */
struct HeadRows {
  std::byte* data;
  int64_t step;
  DType type;
  std::byte* row(int64_t i) const { return data + i * step; }
};

/** Numbers per query, such as its log-sum-exp. */
struct QueryNumbers {
  float* data;
  int64_t step;
  float& at(int64_t i) const { return data[i * step]; }
};

/** What the queries of one frame, or of one token over time, are computed from. */
struct Queries {
  HeadRows q, y, dy;
  QueryNumbers lse, delta;
};

class AttentionBackward final : public PreparedRow {
 public:
  AttentionBackward(const AttentionBackwardArgs& args, const AttentionBackwardKernels& kernels)
      : args_(args),
        kernels_(kernels),
        sight_(device::attention_sight(args)),
        overTime_(args.axis == AttentionAxis::time),
        headDim_(args.q.channels() / args.heads),
        pitch_((headDim_ + kernels.width - 1) / kernels.width * kernels.width),
        numQueries_(args.q.dim(overTime_ ? 1 : 2)),
        numKeys_(args.k.dim(overTime_ ? 1 : 2)) {}

  const char* name() const override { return "attention_backward_fast"; }
  size_t scratch_bytes() const override {
    int64_t floats = 0;
    buffers_by([&floats](int64_t count) {
      floats += padded(count);
      return static_cast<float*>(nullptr);
    });
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    const std::vector<Sequence> sequences = sequences_now();
    const bool sharesKeys = !overTime_ && args_.k.dim(1) == 1;
    const int64_t across = overTime_ ? args_.q.dim(2) : sharesKeys ? 1 : args_.q.dim(1);
    pool.parallel_for(args_.q.dim(0) * across * args_.heads, [&](int64_t task, int worker) {
      auto* at = reinterpret_cast<float*>(scratch.of(worker));
      const Buffers buffers = buffers_by([&at](int64_t count) {
        float* start = at;
        at += padded(count);
        return start;
      });
      const int64_t head = task % args_.heads, place = task / args_.heads % across, clip = task / (args_.heads * across);
      add_head({clip, place, head}, sharesKeys ? args_.q.dim(1) : 1, sequences, buffers);
    });
  }

 private:
  /** A head of a frame, or of a token over time. */
  struct Head {
    int64_t clip, across, index;
  };

  struct Buffers {
    float* keys;  // [kKeys, pitch]
    float* keyColumns;  // [headDim, kKeys]
    float* valueColumns;
    float* queries;  // [kQueries, pitch]
    float* dy;
    float* scores;  // [kQueries, kKeys]
    float* products;
    float* added;  // [kKeys]
    float* dq;  // [numQueries, pitch]
    float* dk;  // [numKeys, pitch]
    float* dv;
  };

  static int64_t padded(int64_t floats) { return (floats + kAlignFloats - 1) / kAlignFloats * kAlignFloats; }

  template <class Take> Buffers buffers_by(Take take) const {
    Buffers b{};
    b.keys = take(kKeys * pitch_);
    b.keyColumns = take(headDim_ * kKeys);
    b.valueColumns = take(headDim_ * kKeys);
    b.queries = take(kQueries * pitch_);
    b.dy = take(kQueries * pitch_);
    b.scores = take(kQueries * kKeys);
    b.products = take(kQueries * kKeys);
    b.added = take(kKeys);
    b.dq = take(numQueries_ * pitch_);
    b.dk = take(numKeys_ * pitch_);
    b.dv = take(numKeys_ * pitch_);
    return b;
  }

  /** Offsets are checked before a run, but they are memory that may be written during it. */
  std::vector<Sequence> sequences_now() const {
    if (!args_.cuQ.present()) return {{0, numQueries_, 0, numKeys_}};
    const auto* q = args_.cuQ.as<int32_t>();
    const auto* k = args_.cuK.as<int32_t>();
    std::vector<Sequence> sequences;
    int64_t q0 = std::clamp<int64_t>(q[0], 0, numQueries_), k0 = std::clamp<int64_t>(k[0], 0, numKeys_);
    for (int64_t i = 1; i < args_.cuQ.dim(0); ++i) {
      const int64_t q1 = std::clamp<int64_t>(q[i], q0, numQueries_), k1 = std::clamp<int64_t>(k[i], k0, numKeys_);
      sequences.push_back({q0, q1 - q0, k0, k1 - k0});
      q0 = q1;
      k0 = k1;
    }
    return sequences;
  }

  HeadRows rows_of(const Tensor& t, const Head& head) const {
    if (!t.present()) return {};
    const int64_t frames = t.dim(1), tokens = t.dim(2), item = bytes_of(t.dtype);
    const int64_t pixel =
        overTime_ ? head.clip * frames * tokens + head.across : (head.clip * frames + (frames == 1 ? 0 : head.across)) * tokens;
    return {t.as<std::byte>() + (pixel * t.pitch + head.index * headDim_) * item, (overTime_ ? tokens : 1) * t.pitch * item, t.dtype};
  }

  QueryNumbers numbers_of(const Tensor& t, const Head& head) const {
    const int64_t frame = head.clip * t.dim(1) + (overTime_ ? 0 : head.across);
    float* data = t.as<float>() + (frame * args_.heads + head.index) * t.pitch + (overTime_ ? head.across : 0);
    return {data, overTime_ ? args_.heads * t.pitch : 1};
  }

  void read(const HeadRows& rows, int64_t first, int64_t count, float* out) const {
    for (int64_t i = 0; i < count; ++i) kernels_.read_row(out + i * pitch_, rows.row(first + i), rows.type, headDim_);
  }

  void write(const HeadRows& rows, int64_t count, const float* in) const {
    for (int64_t i = 0; i < count; ++i) {
      const float* row = in + i * pitch_;
      if (rows.type == DType::f32) std::memcpy(rows.row(i), row, static_cast<size_t>(headDim_) * sizeof(float));
      else
        for (int64_t d = 0; d < headDim_; ++d) store_element(rows.row(i), rows.type, d, row[d]);
    }
  }

  /** The gradients of one head, whose keys all of `numFrames` frames from `head.across` on share. */
  void add_head(Head head, int64_t numFrames, const std::vector<Sequence>& sequences, const Buffers& b) const {
    const HeadRows dk = rows_of(args_.dk, head), dv = rows_of(args_.dv, head);
    if (dk.data) std::fill_n(b.dk, numKeys_ * pitch_, 0.0f);
    if (dv.data) std::fill_n(b.dv, numKeys_ * pitch_, 0.0f);
    for (int64_t i = 0; i < numFrames; ++i, ++head.across) {
      const Queries queries{rows_of(args_.q, head), rows_of(args_.y, head), rows_of(args_.dy, head), numbers_of(args_.lse, head),
                            numbers_of(args_.delta, head)};
      const HeadRows dq = rows_of(args_.dq, head);
      write_deltas(queries, b);
      if (!dq.data && !dk.data && !dv.data) continue;
      if (dq.data) std::fill_n(b.dq, numQueries_ * pitch_, 0.0f);
      for (const Sequence& sequence : sequences) add_sequence(head, sequence, queries, b);
      if (dq.data) write(dq, numQueries_, b.dq);
    }
    if (dk.data) write(dk, numKeys_, b.dk);
    if (dv.data) write(dv, numKeys_, b.dv);
  }

  void write_deltas(const Queries& queries, const Buffers& b) const {
    for (int64_t first = 0; first < numQueries_; first += kQueries) {
      const int64_t count = std::min(kQueries, numQueries_ - first);
      read(queries.y, first, count, b.queries);
      read(queries.dy, first, count, b.dy);
      kernels_.dots(b.scores, b.dy, b.queries, pitch_, count, headDim_);
      for (int64_t i = 0; i < count; ++i) queries.delta.at(first + i) = b.scores[i];
    }
  }

  void add_sequence(const Head& head, const Sequence& s, const Queries& queries, const Buffers& b) const {
    const HeadRows k = rows_of(args_.k, head), v = rows_of(args_.v, head);
    for (int64_t key = 0; key < s.numKeys; key += kKeys) {
      const int64_t count = std::min(kKeys, s.numKeys - key);
      const auto first = static_cast<int32_t>(key), last = static_cast<int32_t>(key + count - 1);
      const int64_t begin = sight_.query_begin(first, last), end = sight_.query_end(first, last, static_cast<int32_t>(s.numQueries));
      if (begin >= end) continue;
      read(v, s.firstKey + key, count, b.keys);
      kernels_.transpose(b.keys, pitch_, count, headDim_, b.valueColumns, kKeys);
      read(k, s.firstKey + key, count, b.keys);
      kernels_.transpose(b.keys, pitch_, count, headDim_, b.keyColumns, kKeys);
      for (int64_t query = begin; query < end; query += kQueries) {
        const int64_t numQueries = std::min(kQueries, end - query);
        if (sight_.may_see(static_cast<int32_t>(query), static_cast<int32_t>(query + numQueries - 1), first, last))
          add_block(head, s, {query, numQueries, key, count}, queries, b);
      }
    }
  }

  /** Queries against staged keys; `block` has their places in the sequence. */
  void add_block(const Head& head, const Sequence& s, const Sequence& block, const Queries& queries, const Buffers& b) const {
    const int64_t query = s.firstQuery + block.firstQuery, key = s.firstKey + block.firstKey;
    const int64_t numQueries = block.numQueries, numKeys = block.numKeys;
    const int64_t paddedKeys = (numKeys + kernels_.width - 1) / kernels_.width * kernels_.width;
    read(queries.q, query, numQueries, b.queries);
    read(queries.dy, query, numQueries, b.dy);
    kernels_.multiply({b.scores, kKeys, b.queries, pitch_, 1, b.keyColumns, kKeys, numQueries, paddedKeys, headDim_, false});
    kernels_.multiply({b.products, kKeys, b.dy, pitch_, 1, b.valueColumns, kKeys, numQueries, paddedKeys, headDim_, false});
    for (int64_t i = 0; i < numQueries; ++i) {
      GradientRow row{};
      row.scores = b.scores + i * kKeys;
      row.products = b.products + i * kKeys;
      row.lse = queries.lse.at(query + i);
      row.delta = queries.delta.at(query + i);
      row.scale = args_.scale;
      row.paddedKeys = paddedKeys;
      // A query whose sum of exponentials is 0 has no key.
      row.keys = row.lse == kNone ? 0 : seen_keys(block.firstQuery + i, block.firstKey, numKeys);
      if (row.keys > 0) row.added = added(head, query + i, key, block.firstQuery + i, block.firstKey, row.keys, b.added);
      kernels_.gradient_row(row);
    }
    if (args_.dv.present())
      kernels_.multiply({b.dv + key * pitch_, pitch_, b.scores, 1, kKeys, b.dy, pitch_, numKeys, pitch_, numQueries, true});
    if (args_.dk.present())
      kernels_.multiply({b.dk + key * pitch_, pitch_, b.products, 1, kKeys, b.queries, pitch_, numKeys, pitch_, numQueries, true});
    if (args_.dq.present())
      kernels_.multiply({b.dq + query * pitch_, pitch_, b.products, kKeys, 1, b.keys, pitch_, numQueries, pitch_, numKeys, true});
  }

  /** How many of `count` keys from place `firstKey` on the causal limit leaves a query. */
  int64_t seen_keys(int64_t place, int64_t firstKey, int64_t count) const {
    return args_.causal ? std::clamp<int64_t>(place + 1 - firstKey, 0, count) : count;
  }

  /** What is added to the scores of `count` keys, written to `out` unless it lies in memory as it is; null for nothing. `query` and `key`
   *  are counted along the axis, places in the sequence. */
  const float* added(const Head& head, int64_t query, int64_t key, int64_t queryPlace, int64_t keyPlace, int64_t count, float* out) const {
    const auto own = static_cast<int32_t>(queryPlace), first = static_cast<int32_t>(keyPlace);
    const auto numKeys = static_cast<int32_t>(count);
    const bool hides = sight_.has_window() && !sight_.all_see(own, own, first, first + numKeys - 1);
    if (!args_.mask.present() && !hides) return nullptr;
    if (!args_.mask.present()) std::fill_n(out, count, 0.0f);
    else if (const float* mask = mask_row(head, query, key, count, hides, out); !hides) return mask;
    const device::AttentionPlace from = sight_.place(own);
    for (int32_t i = 0; i < numKeys; ++i)
      if (!sight_.in_window(from, sight_.place(first + i))) out[i] = kNone;
    return out;
  }

  /** The mask's numbers for a query, where they lie or copied to `out`. */
  const float* mask_row(const Head& head, int64_t query, int64_t key, int64_t count, bool copies, float* out) const {
    const Tensor& mask = args_.mask;
    const auto at_most = [&mask](int dim, int64_t i) { return mask.dim(dim) == 1 ? 0 : i; };
    const int64_t row = (at_most(0, head.clip) * mask.dim(1) + at_most(1, head.index)) * mask.dim(2) + at_most(2, query);
    const std::byte* in = mask.as<std::byte>() + (row * mask.pitch + key) * bytes_of(mask.dtype);
    if (mask.dtype == DType::f32 && !copies) return reinterpret_cast<const float*>(in);
    if (mask.dtype == DType::u8)
      for (int64_t i = 0; i < count; ++i) out[i] = in[i] != std::byte{0} ? 0.0f : kNone;
    else kernels_.read_row(out, in, mask.dtype, count);
    return out;
  }

  AttentionBackwardArgs args_;
  const AttentionBackwardKernels& kernels_;
  device::AttentionSight sight_;
  bool overTime_;
  int64_t headDim_;
  int64_t pitch_;  // of a row of a head in own memory
  int64_t numQueries_, numKeys_;
};

}  // namespace

/** Any masks, windows, packed sequences and types; over space or time. */
std::unique_ptr<PreparedRow> prepare_attention_backward(const AttentionBackwardArgs& args, PackCache&, const Target& target) {
  return std::make_unique<AttentionBackward>(args, attention_backward_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
