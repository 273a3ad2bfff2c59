#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// any (kAll false) is true when one element is; all when none is false. NaN counts as true.
template <bool kAll>
void truth_of(Context& context, const char* who, const Tensor& self, util::DimMask dims,
              bool keepdim, Tensor& out) {
  util::check_distinct(who, self, out);
  ETLAB_CHECK(out.type() == ScalarType::kBool || out.type() == ScalarType::kByte,
              kInvalidArgument, who, ": expected out of dtype bool or uint8, got ",
              describe(out));
  out.resize(util::reduced_sizes(self, dims, keepdim));
  const util::Reduction reduction(self, dims);
  const util::IndexBox results(out);
  auto* to = out.data<uint8_t>();
  dispatch<StoredTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::for_each_result<T>(context, reduction, self.data<T>(),
                             [&](int64_t index, const util::ReducedValues<T>& values) {
                               bool truth = kAll;
                               values.for_each([&](T value) {
                                 const bool is_true = value != T(0);
                                 truth = kAll ? truth && is_true : truth || is_true;
                               });
                               to[results.offset(index)] = truth ? 1 : 0;
                             });
  });
}

// No list means every dimension; an empty one means none.
util::DimMask listed_dims(const char* who, std::optional<Span<const int64_t>> dims,
                          int64_t rank) {
  return dims.has_value() ? util::dim_mask(who, *dims, rank) : util::all_dims(rank);
}

void any_all_out(Context& context, const Tensor& self, Tensor& out) {
  truth_of<false>(context, "aten::any.all_out", self, util::all_dims(self.dim()), false, out);
}

void any_out(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  const char* who = "aten::any.out";
  truth_of<false>(context, who, self, util::dim_mask(who, {&dim, 1}, self.dim()), keepdim, out);
}

void any_dims_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
                  bool keepdim, Tensor& out) {
  const char* who = "aten::any.dims_out";
  truth_of<false>(context, who, self, listed_dims(who, dim, self.dim()), keepdim, out);
}

void all_all_out(Context& context, const Tensor& self, Tensor& out) {
  truth_of<true>(context, "aten::all.all_out", self, util::all_dims(self.dim()), false, out);
}

void all_out(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  const char* who = "aten::all.out";
  truth_of<true>(context, who, self, util::dim_mask(who, {&dim, 1}, self.dim()), keepdim, out);
}

void all_dims_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
                  bool keepdim, Tensor& out) {
  const char* who = "aten::all.dims_out";
  truth_of<true>(context, who, self, listed_dims(who, dim, self.dim()), keepdim, out);
}

}  // namespace
ETLAB_KERNEL("aten::any.all_out", any_all_out);
ETLAB_KERNEL("aten::any.out", any_out);
ETLAB_KERNEL("aten::any.dims_out", any_dims_out);
ETLAB_KERNEL("aten::all.all_out", all_all_out);
ETLAB_KERNEL("aten::all.out", all_out);
ETLAB_KERNEL("aten::all.dims_out", all_dims_out);
}  // namespace etlab
