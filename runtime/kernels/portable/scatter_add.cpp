#include "runtime/core/kernel.h"
#include "runtime/kernels/util/element_type.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "scatter_add";

template <typename T>
T add_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));  // wraps
  } else {
    return a + b;
  }
}

// Sums of half and bfloat16 are kept in float32 until all is added, as eager does.
template <typename T>
void add_in_float(Context& context, const IndexedWalk& walk, const Tensor& src,
                  const int64_t* table, Tensor& out) {
  const int64_t count = out.numel();  // dense, so memory order needs no strides
  float* sums = context.allocate<float>(count);
  T* result = out.data<T>();
  std::copy_n(result, count, sums);
  combine_indexed(walk, src.data<T>(), table, sums, add_elements<float>);
  for (int64_t i = 0; i < count; ++i) result[i] = T(sums[i]);
}

void scatter_add_out(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out) {
  check_same_type(kName, self, out);
  check_same_type(kName, self, src);
  out.resize(self.sizes());
  const IndexedWalk walk = walk_along(kName, out, dim, index, StridedView(src));
  const int64_t* table = offsets_along(context, kName, out, dim, index);
  copy_view(context, StridedView(self), StridedView(out));
  visit_element_type(self.type(), [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      add_in_float<T>(context, walk, src, table, out);
    } else {
      combine_indexed(walk, src.data<T>(), table, out.data<T>(), add_elements<T>);
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::scatter_add.out", scatter_add_out);
}  // namespace etlab
