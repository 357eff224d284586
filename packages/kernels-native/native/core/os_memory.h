// The only operating-system calls for memory; everything else is portable.
#pragma once
#include <cstddef>
#include <string>

namespace vd::os {

/** Zeroed, page-aligned memory, or nullptr. */
void* reserve_pages(size_t bytes);
void release_pages(void* data, size_t bytes);
/** Does what `reserve_pages` does for memory that is touched as a whole: made of large pages where the system has any, beginning with one.
 */
void* reserve_huge_pages(size_t bytes);
/** Gives memory back and keeps its addresses, so that nothing else comes to lie there. */
void release_pages_keep_addresses(void* data, size_t bytes);
/** Says that a large block is best made of large pages, where the system has any: touching it for the first time and giving it
 *  back are then much faster. */
void prefer_huge_pages(void* data, size_t bytes);

struct FileView {
  void* data = nullptr;
  size_t bytes = 0;
};

/** Read-only view of a regular file with at least one byte. Throws Error(io). */
FileView map_whole_file(const std::string& utf8_path);
void unmap(const FileView& view);
/** Gives the whole pages of a range of a view back to the page cache; they are read again when touched. */
void release_file_pages(const void* data, size_t bytes);

}  // namespace vd::os
