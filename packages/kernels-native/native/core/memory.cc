#include "memory.h"

#include <cstdint>
#include <cstring>

#include "error.h"
#include "os_memory.h"

namespace vd {
namespace {

/** From here on memory is made of large pages; smaller blocks would all begin in the same lines of a cache for nothing. */
constexpr size_t kLargeBytes = size_t{4} << 20;

class HostMemory final : public Memory {
 public:
  explicit HostMemory(size_t bytes) {
    data_ = static_cast<std::byte*>(bytes < kLargeBytes ? os::reserve_pages(bytes) : os::reserve_huge_pages(bytes));
    if (data_ == nullptr)
      throw Error(ErrorCode::memory, "allocate", std::to_string(bytes) + " bytes of free memory", "a refusal by the operating system",
                  "Use fewer frames, a smaller size or a smaller decode chunk.");
    bytes_ = bytes;
  }
  ~HostMemory() override { os::release_pages(data_, bytes_); }
};

class MappedFile final : public Memory {
 public:
  explicit MappedFile(const std::string& path) : view_(os::map_whole_file(path)) {
    data_ = static_cast<std::byte*>(view_.data);
    bytes_ = view_.bytes;
    writable_ = false;
  }
  ~MappedFile() override { os::unmap(view_); }
  void release_pages(size_t offset, size_t bytes) const override { os::release_file_pages(data_ + offset, bytes); }

 private:
  os::FileView view_;
};

}  // namespace

void Memory::write(size_t offset, const void* source, size_t bytes) {
  changed();
  if (bytes > 0) std::memcpy(data_ + offset, source, bytes);
}

void Memory::read(size_t offset, void* target, size_t bytes) const {
  if (bytes > 0) std::memcpy(target, data_ + offset, bytes);
}

void Memory::read_in_blocks(size_t offset, size_t bytes, size_t, const TakeBlock& take) const {
  if (bytes > 0) take(data_ + offset, 0, bytes);
}

void Memory::fill(size_t offset, int value, size_t bytes) {
  changed();
  std::memset(data_ + offset, value, bytes);
}

void Memory::copy(size_t offset, const Memory& source, size_t from, size_t bytes) {
  changed();
  if (!source.on_host()) source.read(from, data_ + offset, bytes);
  else std::memmove(data_ + offset, source.data() + from, bytes);
}

std::shared_ptr<Memory> allocate_host(size_t bytes) { return std::make_shared<HostMemory>(bytes == 0 ? 1 : bytes); }

std::shared_ptr<Memory> map_file(const std::string& path) { return std::make_shared<MappedFile>(path); }

}  // namespace vd
