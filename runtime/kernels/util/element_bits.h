#pragma once

#include <array>
#include <cstdint>

#include "runtime/core/scalar.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

// A number as one element of a dtype, for filling memory whose type nobody looks at.
class ElementBits {
 public:
  // Throws kInvalidArgument, `who` first, when the number does not fit the dtype (eager's rule: an
  // infinity fits every float, a negative integer down to -max wraps in an unsigned type).
  ElementBits(const char* who, const Scalar& value, ScalarType type);

  // Points into this object.
  StridedView repeated(Span<const int64_t> sizes) const {
    return StridedView::repeated(bits_.data(), element_bytes_, sizes);
  }

 private:
  std::array<uint64_t, 2> bits_{};
  size_t element_bytes_;
};

}  // namespace etlab
