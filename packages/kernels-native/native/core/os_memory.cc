#include "os_memory.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "error.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace vd::os {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::io, path, "a readable file of at least one byte", reason);
}

}  // namespace

#if defined(_WIN32)

void* reserve_pages(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }

void* reserve_huge_pages(size_t bytes) { return reserve_pages(bytes); }

void release_pages(void* data, size_t) { VirtualFree(data, 0, MEM_RELEASE); }

void release_pages_keep_addresses(void* data, size_t bytes) { VirtualFree(data, bytes, MEM_DECOMMIT); }

void prefer_huge_pages(void*, size_t) {}

FileView map_whole_file(const std::string& utf8_path) {
  const int length = MultiByteToWideChar(CP_UTF8, 0, utf8_path.c_str(), -1, nullptr, 0);
  std::vector<wchar_t> wide(static_cast<size_t>(length) + 1);
  MultiByteToWideChar(CP_UTF8, 0, utf8_path.c_str(), -1, wide.data(), length);
  const HANDLE file = CreateFileW(wide.data(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr);
  if (file == INVALID_HANDLE_VALUE) fail(utf8_path, "Windows error " + std::to_string(GetLastError()));
  LARGE_INTEGER size{};
  HANDLE mapping = nullptr;
  void* data = nullptr;
  if (GetFileSizeEx(file, &size) && size.QuadPart > 0) {
    mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapping != nullptr) data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  }
  const DWORD code = GetLastError();
  if (mapping != nullptr) CloseHandle(mapping);
  CloseHandle(file);
  if (data == nullptr) fail(utf8_path, "Windows error " + std::to_string(code));
  return {data, static_cast<size_t>(size.QuadPart)};
}

void unmap(const FileView& view) { UnmapViewOfFile(view.data); }

void release_file_pages(const void*, size_t) {}

#else

/** Of a large page. */
static constexpr size_t kHugePage = size_t{2} << 20;

#if defined(__SANITIZE_ADDRESS__)

// From the heap, whose ends the sanitizer watches; a mapping's last page hides what reads on.
static void* reserve_aligned(size_t bytes, size_t alignment) {
  void* data = nullptr;
  if (posix_memalign(&data, alignment, bytes) != 0) return nullptr;
  return data == nullptr ? nullptr : std::memset(data, 0, bytes);
}

void* reserve_pages(size_t bytes) { return reserve_aligned(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))); }

void* reserve_huge_pages(size_t bytes) { return reserve_aligned(bytes, kHugePage); }

void release_pages(void* data, size_t) { std::free(data); }

void release_pages_keep_addresses(void*, size_t) {}

#else

void* reserve_pages(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

void* reserve_huge_pages(size_t bytes) {
  auto* begin = static_cast<std::byte*>(reserve_pages(bytes + kHugePage));
  if (begin == nullptr) return nullptr;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = (bytes + page - 1) / page * page;
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  std::byte* data = begin + before;
  if (before > 0) munmap(begin, before);
  if (const size_t behind = bytes + kHugePage - before - kept; behind > 0) munmap(data + kept, behind);
  prefer_huge_pages(data, bytes);
  return data;
}

void release_pages(void* data, size_t bytes) { munmap(data, bytes); }

void release_pages_keep_addresses(void* data, size_t bytes) {
  mmap(data, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

#endif

void prefer_huge_pages(void* data, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr size_t kWorthwhile = size_t{4} << 20;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  if (bytes >= kWorthwhile) madvise(static_cast<std::byte*>(data) + before, bytes - before, MADV_HUGEPAGE);
#endif
}

FileView map_whole_file(const std::string& utf8_path) {
  const int file = open(utf8_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(utf8_path, std::strerror(errno));
  struct stat info{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    close(file);
    fail(utf8_path, "something that is no file with contents");
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const int code = errno;
  close(file);
  if (data == MAP_FAILED) fail(utf8_path, std::strerror(code));
  return {data, bytes};
}

void unmap(const FileView& view) { munmap(view.data, view.bytes); }

void release_file_pages(const void* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  if (end > start) madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
}

#endif

}  // namespace vd::os
