#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// input (*, k) @ weight (m, k) transposed + bias (m) -> (*, m); a weight (k) gives (*).
void linear_out(Context& context, const Tensor& input, const Tensor& weight, const Tensor* bias,
                Tensor& out) {
  const char* who = "aten::linear.out";
  for (const Tensor* tensor : {&input, &weight, bias}) {
    if (tensor == nullptr) continue;
    util::check_distinct(who, *tensor, out);
    check_type(who, "every tensor", *tensor, out.type());
  }
  ETLAB_CHECK(input.dim() >= 1 && (weight.dim() == 1 || weight.dim() == 2) &&
                  input.size(-1) == weight.size(-1),
              kInvalidArgument, who, ": expected input (*, k) and weight (m, k), got ",
              describe(input), " and ", describe(weight));
  const bool is_vector = weight.dim() == 1;
  const int64_t columns = is_vector ? 1 : weight.size(0);
  ETLAB_CHECK(bias == nullptr || (bias->dim() == (is_vector ? 0 : 1) && bias->numel() == columns),
              kInvalidArgument, who, ": expected a bias of ", columns, " values, got ",
              describe(*bias));
  const util::DimMask last = util::DimMask{1} << (input.dim() - 1);
  Sizes sizes = util::reduced_sizes(input, last, !is_vector);
  if (!is_vector) sizes[sizes.size() - 1] = columns;
  out.resize(sizes);

  const util::IndexBox input_rows(input, util::all_dims(input.dim()) & ~last);
  const util::IndexBox output_rows(out, is_vector ? util::all_dims(out.dim())
                                                  : util::all_dims(out.dim()) & ~last);
  const int64_t input_step = input.stride(-1);
  const int64_t output_step = is_vector ? 0 : out.stride(-1);
  const int64_t weight_row = is_vector ? 0 : weight.stride(0);
  const int64_t weight_step = weight.stride(-1);
  const int64_t bias_step = bias == nullptr || is_vector ? 0 : bias->stride(0);
  const util::GemmShape shape{1, input_rows.count(), columns, input.size(-1)};
  dispatch<RealTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using Sum = util::ProductSum<T>;
    const T* x = input.data<T>();   // (*, k)
    const T* w = weight.data<T>();  // (m, k)
    const T* b = bias == nullptr ? nullptr : bias->data<T>();
    T* y = out.data<T>();  // (*, m)
    util::gemm<Sum>(
        context, shape,
        [&](int64_t, int64_t row, int64_t k, int64_t count, Sum* to) {
          const T* from = x + input_rows.offset(row) + k * input_step;
          for (int64_t i = 0; i < count; ++i) to[i] = util::to_product(from[i * input_step]);
        },
        [&](int64_t, int64_t k, int64_t column, int64_t count, Sum* to) {
          const T* from = w + column * weight_row + k * weight_step;
          for (int64_t i = 0; i < count; ++i) to[i] = util::to_product(from[i * weight_row]);
        },
        [&](int64_t, int64_t row, int64_t column, int64_t count, const Sum* from) {
          T* to = y + output_rows.offset(row) + column * output_step;
          for (int64_t i = 0; i < count; ++i) {
            const Sum start = b == nullptr ? Sum{} : util::to_product(b[(column + i) * bias_step]);
            to[i * output_step] = util::from_product<T>(from[i] + start);
          }
        });
  });
}

}  // namespace
ETLAB_KERNEL("aten::linear.out", linear_out);
}  // namespace etlab
