#include "runtime/core/kernel.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/sorting.h"

namespace etlab {
namespace {

// The lower of the two middle elements; the first NaN where there is one.
template <typename T>
void median_of_lanes(Context& context, const Tensor& self, util::DimMask dims, Tensor& values,
                     Tensor* indices) {
  const util::IndexBox value_places(values);
  const util::IndexBox index_places(indices == nullptr ? values : *indices);
  const int64_t length = util::IndexBox(self, dims).count();
  util::for_each_ordered_lane<T>(
      context, self, dims,
      [](util::Ranked<T>* begin, util::Ranked<T>* end) {
        std::sort(begin, end, util::is_before<false, T>);
      },
      [&](int64_t lane, const util::Ranked<T>* ordered) {
        const util::Ranked<T>* found = ordered + (length - 1) / 2;
        if (util::is_nan(ordered[length - 1].value)) {
          found = std::find_if(ordered, ordered + length, [](const util::Ranked<T>& element) {
            return util::is_nan(element.value);
          });
        }
        values.data<T>()[value_places.offset(lane)] = found->value;
        if (indices == nullptr) return;
        indices->data<int64_t>()[index_places.offset(lane)] = found->index;
      });
}

// Of equal middle elements the first one's index is given.
void median_dim_values(Context& context, const Tensor& self, int64_t dim, bool keepdim,
                       Tensor& values, Tensor& indices) {
  const char* who = "aten::median.dim_values";
  util::check_ranked_outputs(who, self, values, indices);
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  util::check_reduces_something(who, self, dims);
  values.resize(util::reduced_sizes(self, dims, keepdim));
  indices.resize(util::reduced_sizes(self, dims, keepdim));
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    median_of_lanes<T>(context, self, dims, values, &indices);
  });
}

void median_out(Context& context, const Tensor& self, Tensor& out) {
  const char* who = "aten::median.out";
  util::check_distinct(who, self, out);
  check_type(who, "out", out, self.type());
  const util::DimMask dims = util::all_dims(self.dim());
  out.resize(util::reduced_sizes(self, dims, false));
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if (self.numel() == 0) {  // no middle: NaN, or what eager makes of it in integers
      *out.data<T>() = cast<T>(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    median_of_lanes<T>(context, self, dims, out, nullptr);
  });
}

}  // namespace
ETLAB_KERNEL("aten::median.dim_values", median_dim_values);
ETLAB_KERNEL("aten::median.out", median_out);
}  // namespace etlab
