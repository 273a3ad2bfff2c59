#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace etlab {

// What went wrong; the bindings turn each kind into its own Python exception.
enum class ErrorKind {
  kInternal,
  kInvalidArgument,
  kInvalidProgram,
  kNotFound,
  kNotSupported,
  kOperatorMissing,
  kBackendMissing,
  kOutOfMemory,
  kAccessFailed,
  kInterrupted,
};

// The one exception of the native code. The message names the thing, what was expected, what came
// and, where there is one, the way out.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

}  // namespace etlab

// ETLAB_CHECK(groups > 0, kInvalidArgument, "convolution: groups must be positive, got ", groups);
#define ETLAB_CHECK(condition, kind, ...)                            \
  do {                                                               \
    if (!(condition)) {                                              \
      ::etlab::fail(::etlab::ErrorKind::kind, __VA_ARGS__);          \
    }                                                                \
  } while (false)
