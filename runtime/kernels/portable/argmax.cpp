#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

template <bool kLargest>
void arg_extremum_out(Context& context, const char* who, const Tensor& self,
                      std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  util::check_distinct(who, self, out);
  check_type(who, "out", out, ScalarType::kLong);
  const util::DimMask dims = dim.has_value() ? util::dim_mask(who, {&*dim, 1}, self.dim())
                                             : util::all_dims(self.dim());
  util::check_reduces_something(who, self, dims);
  out.resize(util::reduced_sizes(self, dims, keepdim));
  const util::Reduction reduction(self, dims);
  const util::IndexBox results(out);
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    auto* to = out.data<int64_t>();
    util::for_each_result<T>(context, reduction, self.data<T>(),
                             [&](int64_t index, const util::ReducedValues<T>& values) {
                               util::Extremum<kLargest, T> best;
                               values.for_each([&](T value) { best.add(value); });
                               to[results.offset(index)] = best.index();
                             });
  });
}

void argmax_out(Context& context, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                Tensor& out) {
  arg_extremum_out<true>(context, "aten::argmax.out", self, dim, keepdim, out);
}

void argmin_out(Context& context, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                Tensor& out) {
  arg_extremum_out<false>(context, "aten::argmin.out", self, dim, keepdim, out);
}

}  // namespace
ETLAB_KERNEL("aten::argmax.out", argmax_out);
ETLAB_KERNEL("aten::argmin.out", argmin_out);
}  // namespace etlab
