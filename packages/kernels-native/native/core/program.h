// A checked list of rows on one device, ready to run many times.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "validate.h"

namespace vd {

/** What a run took. */
struct RunTimes {
  double total_us = 0;
  /** Whether a recorded graph was replayed; else the rows were launched one by one. */
  bool replayed = false;
  /** Per row, empty unless asked for. */
  std::vector<double> row_us;
};

/** A variant, or a family of them (`sm90_*`), that a row cannot have. */
struct RejectedVariant {
  std::string name;
  /** Why, as a clause about the variant. */
  std::string reason;
};

/** Figures of a compiled program that only the backend knows. */
struct ProgramInfo {
  size_t scratch_bytes = 0;
  size_t packed_bytes = 0;
  /** Weights that every run copies to the device. */
  size_t streamed_bytes = 0;
  /** Per row: whether a fast path or the reference runs. */
  std::vector<bool> fast;
  /** Per row: the variant that was chosen; on the CPU the fast path, or `definition`. */
  std::vector<std::string> variants;
  /** Per row: kernels that a run of it launches on a GPU; empty where nothing is launched. */
  std::vector<int> launches;
  /** Per row: the variants that it could have, the backend's own choice first; empty where there are none. */
  std::vector<std::vector<std::string>> candidates;
  /** Per row: the variants that it cannot have; empty unless CompileOptions::explain. */
  std::vector<std::vector<RejectedVariant>> rejected;
  /** Variants that were chosen first and that the driver does not compile: others run in their place. */
  std::vector<RejectedVariant> refused;
};

/** A part of a memory. */
struct MemoryRange {
  std::shared_ptr<Memory> memory;
  size_t offset = 0;
  size_t bytes = 0;
};

/** How a program is compiled. */
struct CompileOptions {
  /** Record the rows when they are compiled and replay them as one, where the backend can. Runs that measure their rows do not. */
  bool capture = false;
  /** Per row: the variant wanted; an empty text, one that the row cannot have, or an empty list leave it to the backend. */
  std::vector<std::string> variants;
  /** Per row: the backend's own choice that the wanted variant replaces; where that is another one by now, it stands. An empty text or an
   *  empty list: whatever it is. */
  std::vector<std::string> insteadOf;
  /** The same for rows whose variants may be the same: all of them but where their memory lies. Empty: unknown. */
  std::string rowsKey;
  /** Also find out why rows cannot have other variants, where the backend has several. */
  bool explain = false;
  /** Each result's bits follow from what it is computed of, not from how many there are. The CPU always keeps that. */
  bool batchInvariant = false;
  /** Bytes of device memory through which weights pass, copied from page-locked host memory ahead of the rows that use them; 0: they stay
   *  on the device. Weights that fit in there together stay too. */
  size_t streamBytes = 0;
  /** Device memory for what the program has beside its buffers, as long as it lives: the rows' working memory, and weights that take
   * several times the memory of what they are made of. What has no room there, all by default, lies in memory of its own. */
  MemoryRange space;
  /** Where a device has several programs to run, those of the others wait for what this one is ready to do. */
  bool goesFirst = false;
};

class Program;

/** What a run is asked for. */
struct RunRequest {
  bool timeRows = false;
  /** What is copied before the first row, from memory of this or another device or the host; whoever wrote that has ended. */
  std::vector<MemoryCopy> copies;
  /** Programs, of this or another device, whose run that was queued last ends before this one begins. */
  std::vector<std::shared_ptr<Program>> after;
  /** How many runs were asked for before, in the order in which they begin. */
  uint64_t number = 0;
};

/** One run at a time, but where runs queue; the rows before a failure or a cancel have been computed. */
class Program {
 public:
  virtual ~Program() = default;
  virtual RunTimes run(const RunRequest& request) = 0;
  /** Does what `run` does, and need not wait for its end: `waiter` returns what does. */
  virtual void queue(const RunRequest& request) { run(request); }
  /** Returns what waits for the run that was queued last, on any thread. */
  virtual std::function<void()> waiter() const {
    return [] {};
  }
  /** Whether a run may be asked for while the one before it is under way. */
  virtual bool queues_runs() const { return false; }
  virtual const ProgramInfo& info() const = 0;
  /** Forgets an earlier cancel. The thread that asks for a run calls it, so that a cancel before the run starts counts. */
  void arm() { cancelled_.store(false, std::memory_order_relaxed); }
  /** Makes the current run stop before its next row with Error(cancelled). Any thread may call it. */
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 protected:
  std::atomic<bool> cancelled_{false};
};

/** Memory of a device, in bytes; zeros where the device has none of its own. */
struct DeviceMemoryInfo {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  /** Weights kept on it by this process. */
  size_t resident_bytes = 0;
};

/** Packed weights that no program uses: all of them, or those that take much more memory than what they are made of. */
enum class Unused { all, transformed };

/** What new memory holds. */
enum class Contents { zeros, undefined };

/** Something that runs programs. */
class Device {
 public:
  virtual ~Device() = default;
  /** Packs weights and prepares rows; may take long. Throws Error. */
  virtual std::unique_ptr<Program> compile(std::vector<Row> rows, std::vector<BufferBinding> buffers, const CompileOptions& options) = 0;
  /** Opens what is opened late; may take seconds. Throws Error. */
  virtual void prepare() {}
  /** Memory that rows on this device may write. Throws Error(memory). */
  virtual std::shared_ptr<Memory> allocate(size_t bytes, Contents) { return allocate_host(bytes); }
  /** Zeroed host memory that copies between it and this device are fastest with. Throws Error(memory|driver). */
  virtual std::shared_ptr<Memory> allocate_on_host(size_t bytes) { return allocate_host(bytes); }
  /** Lets go of packed weights that no program uses. */
  virtual void trim(Unused) {}
  virtual DeviceMemoryInfo memory() { return {}; }
};

}  // namespace vd
