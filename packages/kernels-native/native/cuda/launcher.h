// Launches with every address known, ready to go to a stream.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "stream.h"

namespace vd::cuda {

/** One kernel launch, resolved. */
struct ReadyLaunch {
  driver::FunctionHandle function = nullptr;
  /** Keeps a kernel that was compiled for the launch. */
  std::shared_ptr<const CompiledKernel> compiled;
  std::vector<std::byte> params;
  unsigned grid[3] = {1, 1, 1};
  unsigned block = 1;
  unsigned cluster = 1;
  bool allResident = false;
  bool overlapped = false;
  unsigned sharedBytes = 0;
};

/** Where the parts of a variant lie. */
struct BaseAddresses {
  driver::DevicePtr workspace = 0;
  std::vector<driver::DevicePtr> packs;
  /** The real address behind a word of the parameters that stands for one; other words as they are. */
  std::function<uint64_t(uint64_t)> resolve;
};

/** Finds the kernel, writes addresses and tensor maps into the parameters. where: the row. Throws Error. */
ReadyLaunch make_ready(Context& context, const Launch& launch, const BaseAddresses& bases, const std::string& where);

/** Queues a launch. Throws Error naming `where`. */
void launch_on(const Stream& stream, ReadyLaunch& launch, const std::string& where);

/** Calls `visit` with every word of a launch that may be an address: parameters, relocations, tensor maps. */
void for_each_word(const Launch& launch, const std::function<void(uint64_t)>& visit);

}  // namespace vd::cuda
