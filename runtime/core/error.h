#pragma once

#include <cstdint>
#include <cstring>
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

// A message is written as pieces: text, numbers, enumerators with a `const char* name_of(…)`. The
// runtime checks everything and so holds many hundred messages; where a check stands they cost one
// call with one word a piece, and only the callee knows how to make text of them.
namespace message {

enum class Piece : uint64_t { kNone, kText, kView, kString, kSigned, kUnsigned, kReal, kCharacter };
constexpr unsigned kBitsPerPiece = 3;
constexpr size_t kMostPieces = 64 / kBitsPerPiece;

template <typename T>
constexpr Piece piece_of() {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same_v<Plain, std::string_view>) return Piece::kView;
  else if constexpr (std::is_same_v<Plain, std::string>) return Piece::kString;
  else if constexpr (std::is_same_v<Plain, char>) return Piece::kCharacter;
  else if constexpr (std::is_floating_point_v<Plain>) return Piece::kReal;
  else if constexpr (std::is_integral_v<Plain> && std::is_signed_v<Plain>) return Piece::kSigned;
  else if constexpr (std::is_integral_v<Plain>) return Piece::kUnsigned;
  else return Piece::kText;
}

template <typename T>
uint64_t word_of(const T& piece) {
  constexpr Piece kKind = piece_of<T>();
  if constexpr (kKind == Piece::kView || kKind == Piece::kString) {
    return reinterpret_cast<uintptr_t>(&piece);
  } else if constexpr (kKind == Piece::kReal) {
    const double real = static_cast<double>(piece);
    uint64_t bits;
    std::memcpy(&bits, &real, sizeof(bits));
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(piece);
  } else if constexpr (std::is_convertible_v<const T&, const char*>) {
    return reinterpret_cast<uintptr_t>(static_cast<const char*>(piece));
  } else {
    return reinterpret_cast<uintptr_t>(static_cast<const char*>(name_of(piece)));
  }
}

// The kinds of a message's pieces, the first in the lowest bits.
template <typename... Parts>
constexpr uint64_t pieces_of() {
  static_assert(sizeof...(Parts) <= kMostPieces, "break the message up with concat(…)");
  uint64_t pieces = 0;
  unsigned shift = 0;
  ((pieces |= static_cast<uint64_t>(piece_of<Parts>()) << shift, shift += kBitsPerPiece), ...);
  return pieces;
}

std::string join(uint64_t pieces, ...);
[[noreturn]] void fail(ErrorKind kind, uint64_t pieces, ...);

}  // namespace message

#if defined(_MSC_VER)
#define ETLAB_ALWAYS_INLINE __forceinline
#else
#define ETLAB_ALWAYS_INLINE __attribute__((always_inline)) inline
#endif

// Always in place: a function of its own for every list of types would be larger than the calls.
template <typename... Parts>
ETLAB_ALWAYS_INLINE std::string concat(const Parts&... parts) {
  return message::join(message::pieces_of<Parts...>(), message::word_of(parts)...);
}

template <typename... Parts>
[[noreturn]] ETLAB_ALWAYS_INLINE void fail(ErrorKind kind, const Parts&... parts) {
  message::fail(kind, message::pieces_of<Parts...>(), message::word_of(parts)...);
}

}  // namespace etlab

// ETLAB_CHECK(groups > 0, kInvalidArgument, "convolution: groups must be positive, got ", groups);
#define ETLAB_CHECK(condition, kind, ...)                   \
  do {                                                      \
    if (!(condition)) {                                     \
      ::etlab::fail(::etlab::ErrorKind::kind, __VA_ARGS__); \
    }                                                       \
  } while (false)
