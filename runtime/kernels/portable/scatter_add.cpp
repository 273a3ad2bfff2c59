#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "scatter_add";

// Sums of half and bfloat16 are kept in float32 until all is added, as eager does.
template <typename T>
void add_in_float(Context& context, const IndexedWalk& walk, const Tensor& src,
                  const int64_t* table, Tensor& out) {
  ETLAB_CHECK(is_dense(out), kInvalidArgument, kName, ": the output ", describe(out), " has gaps");
  const int64_t count = out.numel();  // in the order of memory
  float* sums = context.allocate<float>(count);
  T* result = out.data<T>();
  std::copy_n(result, count, sums);
  add_to_indexed(walk, src.data<T>(), table, sums);
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
  if (self.type() == ScalarType::kBool) {
    return or_to_indexed(walk, src.data<uint8_t>(), table, out.data<uint8_t>());
  }
  dispatch<RealTypes>(self.type(), kName, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if constexpr (kIsReducedFloat<T>) {
      add_in_float<T>(context, walk, src, table, out);
    } else {
      add_to_indexed(walk, src.data<T>(), table, out.data<T>());
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::scatter_add.out", scatter_add_out);
}  // namespace etlab
