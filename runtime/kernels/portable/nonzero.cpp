#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Calls found(index) for every element that is not zero, in row-major order; -0.0 is zero, NaN not.
template <typename Found>
void for_each_nonzero(const Tensor& self, Found found) {
  StridedWalk<1> walk;
  for (size_t dim = 0; dim < static_cast<size_t>(self.dim()); ++dim) {
    walk.append(self.sizes()[dim], {self.strides()[dim]});
  }
  walk.append(1, {0});
  const uint64_t sign = is_floating(self.type()) ? 1 : 0;
  dispatch_bytes(element_size(self.type()), [&](auto zero) {
    using T = decltype(zero);
    const T* data = self.data<T>();
    int64_t position = 0;
    walk.for_each_row([&](const std::array<int64_t, 1>& offset) {
      // Shifting the sign of a float out leaves zero for both zeros.
      if (static_cast<T>(data[offset[0]] << sign) != 0) found(position);
      ++position;
    });
  });
}

void nonzero_out(Context&, const Tensor& self, Tensor& out) {
  constexpr const char* kName = "nonzero";
  check_type(kName, "out", out, ScalarType::kLong);
  int64_t count = 0;
  for_each_nonzero(self, [&](int64_t) { ++count; });
  const int64_t sizes[] = {count, self.dim()};
  out.resize(sizes);
  int64_t* indices = out.data<int64_t>();
  const int64_t row_stride = out.stride(0);
  const int64_t column_stride = out.stride(1);
  for_each_nonzero(self, [&, row = int64_t{0}](int64_t position) mutable {
    if (row == count) return;  // only when the output aliases the input
    for (int64_t dim = self.dim(); dim-- > 0;) {
      indices[row * row_stride + dim * column_stride] = position % self.size(dim);
      position /= self.size(dim);
    }
    ++row;
  });
}

}  // namespace
ETLAB_KERNEL("aten::nonzero.out", nonzero_out);
}  // namespace etlab
