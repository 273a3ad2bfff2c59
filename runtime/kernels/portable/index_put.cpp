#include "runtime/core/kernel.h"
#include "runtime/kernels/util/advanced_index.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "index_put";

// Strides that repeat `values` over the shape of the index result, outermost first.
std::array<int64_t, kViewRank> broadcast_strides(const Tensor& values, Span<const int64_t> shape) {
  const size_t rank = static_cast<size_t>(values.dim());
  std::array<int64_t, kViewRank> strides{};
  bool fits = rank <= shape.size();
  for (size_t i = 0; fits && i < rank; ++i) {
    const size_t dim = shape.size() - rank + i;
    fits = values.sizes()[i] == 1 || values.sizes()[i] == shape[dim];
    strides[dim] = values.sizes()[i] == 1 ? 0 : values.strides()[i];
  }
  ETLAB_CHECK(fits, kInvalidArgument, kName, ": values ", describe(values),
              " do not broadcast to the indexed shape ", describe(shape));
  return strides;
}

void put(Context& context, Tensor& self, const AdvancedIndex& index, const Tensor& values,
         const std::array<int64_t, kViewRank>& strides, bool accumulate) {
  const IndexedWalk walk = index.walk({strides.data(), index.rank});
  if (!accumulate) {
    return copy_to_indexed(context, element_size(self.type()), walk, values.raw(), index.table,
                           self.raw());
  }
  if (self.type() == ScalarType::kBool) {
    return or_to_indexed(walk, values.data<uint8_t>(), index.table, self.data<uint8_t>());
  }
  dispatch<RealTypes>(self.type(), kName, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    add_to_indexed(walk, values.data<T>(), index.table, self.data<T>());
  });
}

void index_put_out(Context& context, const Tensor& self, OptionalTensors indices,
                   const Tensor& values, bool accumulate, Tensor& out) {
  check_same_type(kName, self, out);
  check_same_type(kName, self, values);
  out.resize(self.sizes());
  const AdvancedIndex index(context, kName, out, indices);  // offsets in the output's layout
  const auto strides = broadcast_strides(values, index.shape());
  copy_view(context, StridedView(self), StridedView(out));
  put(context, out, index, values, strides, accumulate);
}

void index_put_in_place(Context& context, Tensor& self, OptionalTensors indices,
                        const Tensor& values, bool accumulate) {
  check_same_type(kName, self, values);
  const AdvancedIndex index(context, kName, self, indices);
  put(context, self, index, values, broadcast_strides(values, index.shape()), accumulate);
}

}  // namespace
ETLAB_KERNEL("aten::index_put.out", index_put_out);
ETLAB_KERNEL("aten::index_put_", index_put_in_place);
}  // namespace etlab
