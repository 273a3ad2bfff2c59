#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void where_out(Context& context, const Tensor& condition, const Tensor& self, const Tensor& other,
               Tensor& out) {
  const char* op = "aten::where.self_out";
  ETLAB_CHECK(condition.type() == ScalarType::kBool || condition.type() == ScalarType::kByte,
              kInvalidArgument, op, ": the condition must be bool or uint8, got ",
              describe(condition));
  const ScalarType common = result_type(self, other);
  check_can_cast(op, common, out);
  out.resize(broadcast_sizes(op, condition.sizes(), self.sizes(), other.sizes()));
  dispatch<Concat<ComputeTypes, ComplexTypes>>(compute_type(common), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    // The condition as bytes: compilers do not vectorise loads of bool.
    elementwise<T>(
        context, op, {out, common}, [](uint8_t is_self, T a, T b) { return is_self != 0 ? a : b; },
        as<uint8_t>(condition), as<T>(self, common), as<T>(other, common));
  });
}

}  // namespace
ETLAB_KERNEL("aten::where.self_out", where_out);
}  // namespace etlab
