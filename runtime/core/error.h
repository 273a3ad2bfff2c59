#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

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

// One piece of a message: text, a number, or an enumerator with a `const char* name_of(…)`. Nothing
// to destroy, so that a check costs few instructions where it stands.
class Piece {
 public:
  Piece(const char* text) : view_(text) {}         // NOLINT: pieces are written as they are
  Piece(char* text) : view_(text) {}               // NOLINT
  Piece(std::string_view text) : view_(text) {}    // NOLINT
  Piece(const std::string& text) : view_(text) {}  // NOLINT
  template <typename T>
  Piece(const T& value) {  // NOLINT
    if constexpr (std::is_same_v<T, char>) {
      digits_[0] = value;
      view_ = {digits_, 1};
    } else if constexpr (std::is_floating_point_v<T>) {
      set_real(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      set_signed(value);
    } else if constexpr (std::is_integral_v<T>) {
      set_unsigned(value);
    } else {
      view_ = name_of(value);
    }
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  std::string_view view() const { return view_; }

 private:
  void set_signed(int64_t value);
  void set_unsigned(uint64_t value);
  void set_real(double value);

  std::string_view view_;
  char digits_[24];
};

std::string concat_pieces(std::initializer_list<Piece> pieces);
[[noreturn]] void fail_pieces(ErrorKind kind, std::initializer_list<Piece> pieces);

template <typename... Parts>
std::string concat(const Parts&... parts) {
  return concat_pieces({parts...});
}

template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  fail_pieces(kind, {parts...});
}

}  // namespace etlab

// ETLAB_CHECK(groups > 0, kInvalidArgument, "convolution: groups must be positive, got ", groups);
#define ETLAB_CHECK(condition, kind, ...)                                \
  do {                                                                   \
    if (!(condition)) {                                                  \
      ::etlab::fail_pieces(::etlab::ErrorKind::kind, {__VA_ARGS__});     \
    }                                                                    \
  } while (false)
