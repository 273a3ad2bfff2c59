#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// Inference only: everything is kept.
void native_dropout_out(Context& context, const Tensor& input, double p, std::optional<bool> train,
                        Tensor& out, Tensor& mask) {
  const char* op = "aten::native_dropout.out";
  ETLAB_CHECK(p >= 0 && p <= 1, kInvalidArgument, op, ": p must lie in [0, 1], got ", p);
  ETLAB_CHECK(train == false || p == 0, kNotSupported, op,
              ": training mode draws random numbers, which this runtime does not; export the model "
              "after model.eval()");
  check_same_type(op, input, out);
  check_type(op, "the mask", mask, ScalarType::kBool);
  out.resize(input.sizes());
  mask.resize(input.sizes());
  copy_to(context, op, input, out);
  fill_with(context, op, Scalar(true), mask);
}

}  // namespace
ETLAB_KERNEL("aten::native_dropout.out", native_dropout_out);
}  // namespace etlab
