// Attention's gradients, block by block: probabilities are computed again from the log-sum-exp, so that memory grows with the
// sequence and not with its square (https://arxiv.org/abs/2205.14135, algorithm 4).
//
// A task takes one head of all queries that share keys, so that no sum is split by thread and none is added to by two. It walks
// over its keys in blocks, each staged once for all the queries that see it: as float32, and transposed for the products with
// queries. Gradients are summed in its own memory and written once.
//
// Where there are too few heads for the threads, a head is shared: tasks of a block of keys sum dk and dv, tasks of a run of queries
// sum dq. Both compute the probabilities, 7 products instead of 5; every sum has the terms and the order that it has in one task, so
// that the bits do not tell how it was computed.
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
/** Queries of a task that sums dq alone: it stages all keys that they see. */
constexpr int64_t kTaskQueries = 2 * kQueries;
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

/** A block of keys of a sequence, counted from its first. */
struct KeyBlock {
  const Sequence* sequence;
  int64_t first, count;
  int64_t begin() const { return sequence->firstKey + first; }
};

/** What a task sums: for these queries, counted along the axis, or for all; gradients by queries, by keys or both. */
struct Share {
  int64_t firstQuery, endQuery;
  bool queries, keys;
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
    const int64_t numHeads = args_.q.dim(0) * across() * args_.heads;
    const auto buffers_of = [&](int worker) {
      auto* at = reinterpret_cast<float*>(scratch.of(worker));
      return buffers_by([&at](int64_t count) {
        float* start = at;
        at += padded(count);
        return start;
      });
    };
    if (shares_heads(numHeads, pool.threads())) return run_shared(pool, numHeads, sequences, buffers_of);
    pool.parallel_for(numHeads, [&](int64_t task, int worker) { add_head(head_at(task), sequences, buffers_of(worker)); });
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

  bool shares_keys() const { return !overTime_ && args_.k.dim(1) == 1; }
  /** Frames, or tokens over time, that have keys of their own. */
  int64_t across() const { return overTime_ ? args_.q.dim(2) : shares_keys() ? 1 : args_.q.dim(1); }
  /** Frames that have the keys of a head. */
  int64_t frames_of_keys() const { return shares_keys() ? args_.q.dim(1) : 1; }
  Head head_at(int64_t index) const { return {index / (args_.heads * across()), index / args_.heads % across(), index % args_.heads}; }

  /** Whether all threads together are faster than one for each head: by the products that each way computes. */
  bool shares_heads(int64_t numHeads, int threads) const {
    const int64_t forQueries = args_.dq.present(), forKeys = args_.dk.present() + args_.dv.present();
    const int64_t alone = 2 + forQueries + forKeys;
    const int64_t shared = alone + (forQueries > 0 && forKeys > 0 ? 2 : 0);
    return threads > 1 && shared * numHeads < alone * ((numHeads + threads - 1) / threads * threads);
  }

  /** All heads, each by several tasks. */
  template <class BuffersOf>
  void run_shared(ThreadPool& pool, int64_t numHeads, const std::vector<Sequence>& sequences, BuffersOf buffers_of) const {
    const std::vector<KeyBlock> blocks = blocks_of(sequences);
    const int64_t frames = frames_of_keys(), runs = (numQueries_ + kTaskQueries - 1) / kTaskQueries;
    const auto run_of = [&](int64_t task) {
      const int64_t first = task % runs * kTaskQueries;
      return Share{first, std::min(first + kTaskQueries, numQueries_), true, false};
    };
    const auto head_of = [&](int64_t task) {
      Head head = head_at(task / (runs * frames));
      head.across += task / runs % frames;
      return head;
    };
    pool.parallel_for(numHeads * frames * runs, [&](int64_t task, int worker) {
      const Share run = run_of(task);
      write_deltas(queries_of(head_of(task)), run.firstQuery, run.endQuery, buffers_of(worker));
    });
    // Keys outside all sequences belong to the block before them, or to the first.
    const auto numBlocks = std::max<int64_t>(1, static_cast<int64_t>(blocks.size()));
    const int64_t keyTasks = args_.dk.present() || args_.dv.present() ? numHeads * numBlocks : 0;
    const int64_t queryTasks = args_.dq.present() ? numHeads * frames * runs : 0;
    pool.parallel_for(keyTasks + queryTasks, [&](int64_t task, int worker) {
      const Buffers b = buffers_of(worker);
      if (task < keyTasks) add_keys(head_at(task / numBlocks), blocks, task % numBlocks, b);
      else add_queries(head_of(task - keyTasks), blocks, run_of(task - keyTasks), b);
    });
  }

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

  /** Writes the rows from `first` to `end` (exclusive) of `in`. */
  void write(const HeadRows& rows, int64_t first, int64_t end, const float* in) const {
    for (int64_t i = first; i < end; ++i) {
      const float* row = in + i * pitch_;
      if (rows.type == DType::f32) std::memcpy(rows.row(i), row, static_cast<size_t>(headDim_) * sizeof(float));
      else
        for (int64_t d = 0; d < headDim_; ++d) store_element(rows.row(i), rows.type, d, row[d]);
    }
  }

  Queries queries_of(const Head& head) const {
    return {rows_of(args_.q, head), rows_of(args_.y, head), rows_of(args_.dy, head), numbers_of(args_.lse, head),
            numbers_of(args_.delta, head)};
  }

  static std::vector<KeyBlock> blocks_of(const std::vector<Sequence>& sequences) {
    std::vector<KeyBlock> blocks;
    for (const Sequence& s : sequences)
      for (int64_t key = 0; key < s.numKeys; key += kKeys) blocks.push_back({&s, key, std::min(kKeys, s.numKeys - key)});
    return blocks;
  }

  /** All gradients of one head, with all frames that have its keys. */
  void add_head(Head head, const std::vector<Sequence>& sequences, const Buffers& b) const {
    const std::vector<KeyBlock> blocks = blocks_of(sequences);
    const HeadRows dk = rows_of(args_.dk, head), dv = rows_of(args_.dv, head);
    if (dk.data) std::fill_n(b.dk, numKeys_ * pitch_, 0.0f);
    if (dv.data) std::fill_n(b.dv, numKeys_ * pitch_, 0.0f);
    const Share all{0, numQueries_, true, true};
    for (int64_t i = 0; i < frames_of_keys(); ++i, ++head.across) {
      const Queries queries = queries_of(head);
      const HeadRows dq = rows_of(args_.dq, head);
      write_deltas(queries, 0, numQueries_, b);
      if (!dq.data && !dk.data && !dv.data) continue;
      if (dq.data) std::fill_n(b.dq, numQueries_ * pitch_, 0.0f);
      for (const KeyBlock& block : blocks) add_block_of_keys(head, block, all, queries, b);
      if (dq.data) write(dq, 0, numQueries_, b.dq);
    }
    if (dk.data) write(dk, 0, numKeys_, b.dk);
    if (dv.data) write(dv, 0, numKeys_, b.dv);
  }

  /** The gradients by the keys of one block of a head, and zeros for keys of no sequence around it. */
  void add_keys(Head head, const std::vector<KeyBlock>& blocks, int64_t index, const Buffers& b) const {
    const auto numBlocks = static_cast<int64_t>(blocks.size());
    const int64_t begin = index == 0 ? 0 : blocks[static_cast<size_t>(index)].begin();
    const int64_t end = index + 1 < numBlocks ? blocks[static_cast<size_t>(index + 1)].begin() : numKeys_;
    const HeadRows dk = rows_of(args_.dk, head), dv = rows_of(args_.dv, head);
    if (dk.data) std::fill_n(b.dk + begin * pitch_, (end - begin) * pitch_, 0.0f);
    if (dv.data) std::fill_n(b.dv + begin * pitch_, (end - begin) * pitch_, 0.0f);
    const Share keys{0, numQueries_, false, true};
    for (int64_t i = 0; i < frames_of_keys() && index < numBlocks; ++i, ++head.across)
      add_block_of_keys(head, blocks[static_cast<size_t>(index)], keys, queries_of(head), b);
    if (dk.data) write(dk, begin, end, b.dk);
    if (dv.data) write(dv, begin, end, b.dv);
  }

  /** The gradients by a run of queries of a head in one frame. */
  void add_queries(const Head& head, const std::vector<KeyBlock>& blocks, const Share& run, const Buffers& b) const {
    std::fill_n(b.dq + run.firstQuery * pitch_, (run.endQuery - run.firstQuery) * pitch_, 0.0f);
    const Queries queries = queries_of(head);
    for (const KeyBlock& block : blocks) add_block_of_keys(head, block, run, queries, b);
    write(rows_of(args_.dq, head), run.firstQuery, run.endQuery, b.dq);
  }

  void write_deltas(const Queries& queries, int64_t begin, int64_t end, const Buffers& b) const {
    for (int64_t first = begin; first < end; first += kQueries) {
      const int64_t count = std::min(kQueries, end - first);
      read(queries.y, first, count, b.queries);
      read(queries.dy, first, count, b.dy);
      kernels_.dots(b.scores, b.dy, b.queries, pitch_, count, headDim_);
      for (int64_t i = 0; i < count; ++i) queries.delta.at(first + i) = b.scores[i];
    }
  }

  /** What a block of keys gives to the sums of a share. */
  void add_block_of_keys(const Head& head, const KeyBlock& keys, const Share& share, const Queries& queries, const Buffers& b) const {
    const Sequence& s = *keys.sequence;
    const auto first = static_cast<int32_t>(keys.first), last = static_cast<int32_t>(keys.first + keys.count - 1);
    const int64_t begin = sight_.query_begin(first, last), end = sight_.query_end(first, last, static_cast<int32_t>(s.numQueries));
    const int64_t own = std::max<int64_t>(share.firstQuery - s.firstQuery, 0), ownEnd = share.endQuery - s.firstQuery;
    bool isStaged = false;
    // Blocks of queries are the same for every share, so that sums over them are.
    for (int64_t query = begin; query < end; query += kQueries) {
      const int64_t queryEnd = std::min(query + kQueries, end);
      const int64_t from = std::max(query, own), until = std::min(queryEnd, ownEnd);
      if (from >= until || !sight_.may_see(static_cast<int32_t>(query), static_cast<int32_t>(queryEnd - 1), first, last)) continue;
      if (!isStaged) stage(head, keys, b);
      isStaged = true;
      add_block(head, s, {from, until - from, keys.first, keys.count}, share, queries, b);
    }
  }

  void stage(const Head& head, const KeyBlock& keys, const Buffers& b) const {
    read(rows_of(args_.v, head), keys.begin(), keys.count, b.keys);
    kernels_.transpose(b.keys, pitch_, keys.count, headDim_, b.valueColumns, kKeys);
    read(rows_of(args_.k, head), keys.begin(), keys.count, b.keys);
    kernels_.transpose(b.keys, pitch_, keys.count, headDim_, b.keyColumns, kKeys);
  }

  /** Queries against staged keys; `block` has their places in the sequence. */
  void add_block(const Head& head, const Sequence& s, const Sequence& block, const Share& share, const Queries& queries,
                 const Buffers& b) const {
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
    if (share.keys && args_.dv.present())
      kernels_.multiply({b.dv + key * pitch_, pitch_, b.scores, 1, kKeys, b.dy, pitch_, numKeys, pitch_, numQueries, true});
    if (share.keys && args_.dk.present())
      kernels_.multiply({b.dk + key * pitch_, pitch_, b.products, 1, kKeys, b.queries, pitch_, numKeys, pitch_, numQueries, true});
    if (share.queries && args_.dq.present())
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
