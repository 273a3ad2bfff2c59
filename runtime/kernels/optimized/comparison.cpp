#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/truth_kernels.h"

namespace etlab {
namespace {

constexpr int64_t kGrain = 1 << 16;  // elements worth a second thread

bool supports(Context&, const Tensor& self, const Scalar&, Tensor& out) {
  return is_row_major_float(self) && is_row_major_truth(out, self.dim());
}

// Floats beside a number, which is rounded to float as eager does.
template <Relation relation>
void compare_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  out.resize(self.sizes());
  const auto function =
      ETLAB_FOR_INSTRUCTION_SET(truth_kernels).compare[static_cast<int>(relation)];
  const float* x = self.data<float>();
  auto* result = out.data<uint8_t>();
  const auto number = other.to<float>();
  parallel_near(context, self.numel(), kGrain, [&](int64_t begin, int64_t end) {
    function(x + begin, number, result + begin, end - begin);
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::eq.Scalar_out", compare_out<Relation::kEqual>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::ne.Scalar_out", compare_out<Relation::kNotEqual>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::lt.Scalar_out", compare_out<Relation::kLess>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::le.Scalar_out", compare_out<Relation::kAtMost>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::gt.Scalar_out", compare_out<Relation::kGreater>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::ge.Scalar_out", compare_out<Relation::kAtLeast>, supports);
}  // namespace etlab
