// What a program is compiled of.
#pragma once
#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "../core/program.h"

namespace vd::binding {

/** Texts in one string with NULs between them: to read a thousand from a list takes longer than all else of a request. */
struct JoinedTexts {
  std::string text;
  size_t count = 0;

  /** Returns the texts. Throws Error(attr) where one has a NUL itself. */
  std::vector<std::string> split(const char* where) const;
};

/** The arguments of `compile`, copied from JavaScript; they are checked when they are compiled, on a worker. */
class CompileRequest {
 public:
  /** Throws Error(attr) for values of other types. */
  explicit CompileRequest(const Napi::CallbackInfo& info);

  /** Checks the rows and has `device` compile them. Uses the request up. Throws Error. */
  std::unique_ptr<Program> compile(Device& device) &&;

 private:
  void read_options(const Napi::Value& value);

  std::vector<double> words_;
  JoinedTexts names_, variants_, insteadOf_;
  std::vector<BufferBinding> buffers_;
  CompileOptions options_;
};

}  // namespace vd::binding
