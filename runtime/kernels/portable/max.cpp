#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

template <bool kLargest>
void extremum_along_dim(Context& context, const char* who, const Tensor& self, int64_t dim,
                        bool keepdim, Tensor& values_out, Tensor& indices_out) {
  util::check_distinct(who, self, values_out);
  util::check_distinct(who, self, indices_out);
  util::check_distinct(who, values_out, indices_out);
  check_type(who, "values", values_out, self.type());
  check_type(who, "indices", indices_out, ScalarType::kLong);
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  util::check_reduces_something(who, self, dims);
  values_out.resize(util::reduced_sizes(self, dims, keepdim));
  indices_out.resize(util::reduced_sizes(self, dims, keepdim));
  const util::Reduction reduction(self, dims);
  const util::IndexBox value_places(values_out);
  const util::IndexBox index_places(indices_out);
  dispatch<AllTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* found = values_out.data<T>();
    auto* places = indices_out.data<int64_t>();
    util::for_each_result<T>(context, reduction, self.data<T>(),
                             [&](int64_t index, const util::ReducedValues<T>& values) {
                               util::Extremum<kLargest, T> best;
                               values.for_each([&](T value) { best.add(value); });
                               found[value_places.offset(index)] = best.value();
                               places[index_places.offset(index)] = best.index();
                             });
  });
}

template <bool kLargest>
void extremum_of_all(Context&, const char* who, const Tensor& self, Tensor& out) {
  util::check_distinct(who, self, out);
  check_type(who, "out", out, self.type());
  const util::DimMask dims = util::all_dims(self.dim());
  util::check_reduces_something(who, self, dims);
  out.resize(util::reduced_sizes(self, dims, false));
  dispatch<AllTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::Extremum<kLargest, T> best;
    const util::IndexBox everything(self);
    util::ReducedValues<T>(self.data<T>(), everything).for_each([&](T value) { best.add(value); });
    *out.data<T>() = best.value();
  });
}

void max_dim_max(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& max,
                 Tensor& max_values) {
  extremum_along_dim<true>(context, "aten::max.dim_max", self, dim, keepdim, max, max_values);
}

void min_dim_min(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& min,
                 Tensor& min_indices) {
  extremum_along_dim<false>(context, "aten::min.dim_min", self, dim, keepdim, min, min_indices);
}

void max_unary_out(Context& context, const Tensor& self, Tensor& out) {
  extremum_of_all<true>(context, "aten::max.unary_out", self, out);
}

void min_unary_out(Context& context, const Tensor& self, Tensor& out) {
  extremum_of_all<false>(context, "aten::min.unary_out", self, out);
}

}  // namespace
ETLAB_KERNEL("aten::max.dim_max", max_dim_max);
ETLAB_KERNEL("aten::min.dim_min", min_dim_min);
ETLAB_KERNEL("aten::max.unary_out", max_unary_out);
ETLAB_KERNEL("aten::min.unary_out", min_unary_out);
}  // namespace etlab
