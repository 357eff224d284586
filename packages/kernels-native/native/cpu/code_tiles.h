// The matrix kernels of 8-bit codes. Rows and panels are copies of the codes in a form that an instruction set multiplies best, cut into
// groups of 4 bytes of a row: four integers, two integers of 16 bits or one float32.
#pragma once
#include <cstddef>
#include <cstdint>

#include "code_kernels.h"
#include "kernels.h"

namespace vd::cpu {

/** Part of a tile's sum: `groups` of each row against those of the panel. */
struct CodeSegment {
  const std::byte* rows[kTileRows];
  int64_t groups;
  int64_t panelGroup;  // from the panel's beginning
};

/** sums [kTileRows, vecs * width] = rows · panel · rowScales · colScales, or that added to them: one tile. */
struct CodeTile {
  const CodeSegment* segments;
  int64_t numSegments;
  const std::byte* panel;  // [groups, vecs * width]
  int vecs;
  const float* rowScales;  // [kTileRows]
  const float* colScales;  // [vecs * width]
  float* sums;
  int64_t sumsPitch;
  bool adds;
};

/** A matrix kernel and what it takes. */
struct CodeTiles {
  const char* name;
  RowForm form;
  int group;         // numbers of a row in 4 bytes
  int colBytes;      // of a group of one column
  bool hasOffset;    // each segment of a panel begins with a group of -128 · Σ column, as int32
  int64_t longest;   // products that one sum may have
  int width;         // columns of a vector
  int maxVecs;       // of a panel
  void (*tile)(const CodeTile& tile);
};

/** The kernels of an instruction set that need nothing beyond it. */
struct CodeTileTable {
  CodeTiles integers, floats;
};
VD_DECLARE_KERNEL_TABLE(CodeTileTable, code_tiles)

/** For processors with AVX512_VNNI, and for those with AVX_VNNI. */
extern const CodeTiles kVnniTiles, kShortVnniTiles;
/** For 64-bit Arm with the dot product instructions. */
extern const CodeTiles kArmDotTiles;

/** The fastest that the machine has of an instruction set; `type`: i8 or f8e4m3. */
const CodeTiles& code_tiles_for(DType type, Isa isa);

}  // namespace vd::cpu
