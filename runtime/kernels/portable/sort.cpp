#include "runtime/core/kernel.h"
#include "runtime/kernels/util/sorting.h"

namespace etlab {
namespace {

template <bool kDescending, typename T>
void sort_lanes(Context& context, const Tensor& self, util::DimMask dims, Tensor& values,
                Tensor& indices) {
  const util::RankedWriter<T> writer(values, indices, dims);
  util::for_each_ordered_lane<T>(
      context, self, dims,
      [](util::Ranked<T>* begin, util::Ranked<T>* end) {
        std::sort(begin, end, util::is_before<kDescending, T>);
      },
      [&](int64_t lane, const util::Ranked<T>* ordered) { writer.write(lane, ordered); });
}

// Always stable.
void sort_along(Context& context, const char* who, const Tensor& self, int64_t dim,
                bool descending, Tensor& values, Tensor& indices) {
  util::check_ranked_outputs(who, self, values, indices);
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  values.resize(self.sizes());
  indices.resize(self.sizes());
  dispatch<StoredTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if (descending) {
      sort_lanes<true, T>(context, self, dims, values, indices);
    } else {
      sort_lanes<false, T>(context, self, dims, values, indices);
    }
  });
}

void sort_values(Context& context, const Tensor& self, int64_t dim, bool descending,
                 Tensor& values, Tensor& indices) {
  sort_along(context, "aten::sort.values", self, dim, descending, values, indices);
}

void sort_values_stable(Context& context, const Tensor& self, std::optional<bool>, int64_t dim,
                        bool descending, Tensor& values, Tensor& indices) {
  sort_along(context, "aten::sort.values_stable", self, dim, descending, values, indices);
}

}  // namespace
ETLAB_KERNEL("aten::sort.values", sort_values);
ETLAB_KERNEL("aten::sort.values_stable", sort_values_stable);
}  // namespace etlab
