#include "runtime/kernels/optimized/elementwise.h"

#include <algorithm>
#include <array>

#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/broadcast_loop.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements worth a second thread

int64_t size_from_end(const Tensor& tensor, int64_t back) {
  return back > tensor.dim() ? 1 : tensor.size(-back);
}

}  // namespace

bool supports_unary(const Tensor& self, const Tensor& out) {
  return is_row_major_float(self) && is_row_major_output(out, self.dim());
}

void unary(Context& context, UnaryKernel kernel, const Tensor& self, Tensor& out, float first,
           float second) {
  out.resize(self.sizes());
  const float* x = self.data<float>();
  float* y = out.data<float>();
  const auto function =
      ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels).unary[static_cast<int>(kernel)];
  parallel_near(context, self.numel(), kGrain, [&](int64_t begin, int64_t end) {
    function(x + begin, y + begin, end - begin, first, second);
  });
}

bool supports_binary(const Tensor& a, const Tensor& b, const Tensor& out) {
  const int64_t rank = std::max(a.dim(), b.dim());
  if (!is_row_major_float(a) || !is_row_major_float(b) || !is_row_major_output(out, rank)) {
    return false;
  }
  for (int64_t back = 1; back <= rank; ++back) {
    const int64_t left = size_from_end(a, back);
    const int64_t right = size_from_end(b, back);
    if (left != right && left != 1 && right != 1) return false;
  }
  return true;
}

void binary(Context& context, BinaryKernel kernel, const Tensor& a, const Tensor& b, Tensor& out,
            float scale) {
  const int64_t rank = std::max(a.dim(), b.dim());
  std::array<int64_t, kMaxRank> sizes{};
  for (int64_t back = 1; back <= rank; ++back) {
    const int64_t left = size_from_end(a, back);
    sizes[static_cast<size_t>(rank - back)] = left == 1 ? size_from_end(b, back) : left;
  }
  out.resize({sizes.data(), static_cast<size_t>(rank)});
  const BroadcastLoop<2> loop({&a, &b}, out);
  const float* left = a.data<float>();
  const float* right = b.data<float>();
  float* result = out.data<float>();
  const auto function =
      ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels).binary[static_cast<int>(kernel)];
  parallel_near(context, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    loop.for_each_run(begin, end, [&](const auto& offsets, int64_t first, int64_t count) {
      function({left + offsets[0], right + offsets[1], loop.advances(0), loop.advances(1),
                result + first, count, scale});
    });
  });
}

void binary_scalar(Context& context, BinaryKernel kernel, const Tensor& a, float b, Tensor& out,
                   float scale) {
  const Tensor number = Tensor::strided(ScalarType::kFloat, {}, {}, &b);
  binary(context, kernel, a, number, out, scale);
}

}  // namespace etlab
