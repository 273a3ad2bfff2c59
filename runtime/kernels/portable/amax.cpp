#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

template <bool kLargest>
void extremum_out(Context& context, const char* who, const Tensor& self,
                  Span<const int64_t> dim, bool keepdim, Tensor& out) {
  util::check_distinct(who, self, out);
  check_type(who, "out", out, self.type());
  const util::DimMask dims = util::dim_mask_or_all(who, dim, self.dim());
  util::check_reduces_something(who, self, dims);
  out.resize(util::reduced_sizes(self, dims, keepdim));
  const util::Reduction reduction(self, dims);
  const util::IndexBox results(out);
  dispatch<AllTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* to = out.data<T>();
    util::for_each_result<T>(context, reduction, self.data<T>(),
                             [&](int64_t index, const util::ReducedValues<T>& values) {
                               util::Extremum<kLargest, T> best;
                               values.for_each([&](T value) { best.add(value); });
                               to[results.offset(index)] = best.value();
                             });
  });
}

void amax_out(Context& context, const Tensor& self, Span<const int64_t> dim, bool keepdim,
              Tensor& out) {
  extremum_out<true>(context, "aten::amax.out", self, dim, keepdim, out);
}

void amin_out(Context& context, const Tensor& self, Span<const int64_t> dim, bool keepdim,
              Tensor& out) {
  extremum_out<false>(context, "aten::amin.out", self, dim, keepdim, out);
}

}  // namespace
ETLAB_KERNEL("aten::amax.out", amax_out);
ETLAB_KERNEL("aten::amin.out", amin_out);
}  // namespace etlab
