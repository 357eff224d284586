// The one exception type of the native side; binding/wrap turns it into a JavaScript error.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "../generated/error_codes.h"

namespace vd {

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string where, std::string expected, std::string got, std::string hint = {})
      : code(code), where(std::move(where)), expected(std::move(expected)), got(std::move(got)), hint(std::move(hint)) {
    message_ = "[" + this->where + "] expected " + this->expected + ", got " + this->got;
    if (!this->hint.empty()) message_ += ". " + this->hint;
  }
  const char* what() const noexcept override { return message_.c_str(); }

  ErrorCode code;
  std::string where, expected, got, hint;

 private:
  std::string message_;
};

}  // namespace vd
