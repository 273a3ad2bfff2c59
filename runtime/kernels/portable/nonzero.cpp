#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Calls found(row, column) for every element that is not zero, in row-major order, a row being a
// stretch of the last dimension; -0.0 is zero, NaN is not.
template <typename Found>
void for_each_nonzero(const Tensor& self, Found found) {
  StridedWalk<1> walk;
  for (size_t dim = 0; dim < static_cast<size_t>(self.dim()); ++dim) {
    walk.append(self.sizes()[dim], {self.strides()[dim]});
  }
  if (walk.rank == 0) walk.append(1, {0});
  const int64_t length = walk.row_length();
  const int64_t stride = walk.row_strides()[0];
  const int sign = is_floating(self.type()) ? 1 : 0;
  dispatch_bytes(element_size(self.type()), [&](auto zero) {
    using T = decltype(zero);
    const T* data = self.data<T>();
    int64_t row = 0;
    walk.for_each_row([&](const std::array<int64_t, 1>& offset) {
      for (int64_t column = 0; column < length; ++column) {
        // Shifting the sign of a float out leaves zero for both zeros.
        if constexpr (std::is_integral_v<T>) {
          if (static_cast<T>(data[offset[0] + column * stride] << sign) != 0) found(row, column);
        }
      }
      ++row;
    });
  });
}

void nonzero_out(Context&, const Tensor& self, Tensor& out) {
  constexpr const char* kName = "nonzero";
  check_type(kName, "out", out, ScalarType::kLong);
  ETLAB_CHECK(!is_complex(self.type()), kNotSupported, kName, ": dtype ", name_of(self.type()),
              " is not supported; take the nonzero elements of its abs()");
  int64_t count = 0;
  for_each_nonzero(self, [&](int64_t, int64_t) { ++count; });
  const int64_t sizes[] = {count, self.dim()};
  out.resize(sizes);
  int64_t* indices = out.data<int64_t>();
  const int64_t row_stride = out.stride(0);
  const int64_t column_stride = out.stride(1);
  const int64_t last = self.dim() - 1;
  std::array<int64_t, kMaxRank> index{};  // of the row in the dimensions before the last
  int64_t known_row = -1;
  for_each_nonzero(self, [&, found = int64_t{0}](int64_t row, int64_t column) mutable {
    if (found == count) return;  // only when the output aliases the input
    if (row != known_row) {
      int64_t rest = known_row = row;
      for (int64_t dim = last; dim-- > 0;) {
        index[dim] = rest % self.size(dim);
        rest /= self.size(dim);
      }
    }
    int64_t* target = indices + found++ * row_stride;
    for (int64_t dim = 0; dim < last; ++dim) target[dim * column_stride] = index[dim];
    if (last >= 0) target[last * column_stride] = column;
  });
}

}  // namespace
ETLAB_KERNEL("aten::nonzero.out", nonzero_out);
}  // namespace etlab
