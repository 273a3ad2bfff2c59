#include "runtime/core/kernel.h"
#include "runtime/kernels/util/sorting.h"

namespace etlab {
namespace {

template <bool kLargest, typename T>
void top_of_lanes(Context& context, const Tensor& self, util::DimMask dims, Tensor& values,
                  Tensor& indices) {
  const util::RankedWriter<T> writer(values, indices, dims);
  const int64_t k = writer.length();
  util::for_each_ordered_lane<T>(
      context, self, dims,
      [&](util::Ranked<T>* begin, util::Ranked<T>* end) {
        std::partial_sort(begin, begin + k, end, util::is_before<kLargest, T>);
      },
      [&](int64_t lane, const util::Ranked<T>* ordered) { writer.write(lane, ordered); });
}

// The k first elements of each lane in order (sorted=false allows any order, so this one too);
// equal elements stand as they stood in the input.
void topk_values(Context& context, const Tensor& self, int64_t k, int64_t dim, bool largest, bool,
                 Tensor& values, Tensor& indices) {
  const char* who = "aten::topk.values";
  util::check_ranked_outputs(who, self, values, indices);
  const int64_t axis = normalize_dim(who, dim, self.dim());
  const int64_t length = self.dim() == 0 ? 1 : self.size(axis);
  ETLAB_CHECK(k >= 0 && k <= length, kInvalidArgument, who, ": k=", k, " is not between 0 and ",
              length, ", the size of dimension ", dim);
  Sizes sizes(self.sizes());
  if (self.dim() > 0) sizes[static_cast<size_t>(axis)] = k;
  values.resize(sizes);
  indices.resize(sizes);
  if (values.numel() == 0 || k == 0) return;
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if (largest) {
      top_of_lanes<true, T>(context, self, dims, values, indices);
    } else {
      top_of_lanes<false, T>(context, self, dims, values, indices);
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::topk.values", topk_values);
}  // namespace etlab
