// The one exception type of the native side; binding/wrap turns it into a JavaScript error.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "../generated/error_codes.h"

namespace vd {

class Error : public std::exception {
 public:
  Error(ErrorCode kind, std::string place, std::string wanted, std::string found, std::string advice = {})
      : code(kind), where(std::move(place)), expected(std::move(wanted)), got(std::move(found)), hint(std::move(advice)) {
    message_ = "[" + where + "] expected " + expected + ", got " + got;
    if (!hint.empty()) message_ += ". " + hint;
  }
  const char* what() const noexcept override { return message_.c_str(); }

  ErrorCode code;
  std::string where, expected, got, hint;

 private:
  std::string message_;
};

}  // namespace vd
