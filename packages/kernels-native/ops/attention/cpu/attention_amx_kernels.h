// What attention needs of the AMX engine beyond its products: packing of keys and values, and a softmax in pieces.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../../native/cpu/amx_kernels.h"

namespace vd::cpu::amx {

/** Rows of a matrix to pack as columns (keys of attention) or as steps of k (its values). */
struct PackRows {
  const float* in;
  int64_t inPitch;   // floats
  int64_t rows;      // rows beyond are zeros
  int64_t channels;  // channels beyond are zeros
  std::byte* out;
  int64_t stepBytes;  // from a step to the next: column tiles x parts x kTileBytes
  int64_t partBytes;  // from a part to the next: column tiles x kTileBytes
  int parts;
};

/** An online softmax of a tile of scores, row by row in pieces, whose probabilities come out split. */
class SoftmaxCursor {
 public:
  const float* scores;  // [rows, pitch]; whole vectors beyond the keys may be read
  const float* mask;    // [rows, pitch] added to the scaled scores, or null
  int64_t pitch;
  float scale;
  int64_t keys[kBlockSide];  // keys that each row may see
  int64_t paddedKeys;        // columns to write, whole steps
  float* largest;            // per row, as in SoftmaxRows
  float* total;
  float* correction;
  std::byte* out;
  int64_t outPitch, partBytes;
  int parts;

  // Where it stands: row, next key (-1: the maximum is still to be found), maximum and sum of the row so far.
  int64_t at = 0, key = -1;
  float now = 0;
  float sums[16] = {};

  /** Pieces of one row. */
  int64_t pieces_per_row() const { return 1 + paddedKeys / kStep; }
  void piece();

 private:
  void find_largest();
  void add_step();
  void finish_row();
};

/** Up to 16 rows become the columns of one tile column, in steps over channels. */
void pack_columns(const PackRows& rows);
/** Up to 32 rows become one step of all column tiles, 16 channels each; tiles follow each other within a part. */
void pack_step(const PackRows& rows);

}  // namespace vd::cpu::amx
