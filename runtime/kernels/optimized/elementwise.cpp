#include "runtime/kernels/optimized/elementwise.h"

#include <algorithm>
#include <array>

#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements worth a second thread

// The result of broadcasting with dimensions that both sides walk alike merged, innermost last.
struct Loop {
  struct Dimension {
    int64_t size;
    int64_t a_stride;
    int64_t b_stride;
  };
  std::array<Dimension, kMaxRank> dimensions{};
  size_t rank = 0;

  void add(const Dimension& d) {
    if (d.size == 1) return;
    if (rank > 0) {
      Dimension& outer = dimensions[rank - 1];
      if (outer.a_stride == d.size * d.a_stride && outer.b_stride == d.size * d.b_stride) {
        outer = {outer.size * d.size, d.a_stride, d.b_stride};
        return;
      }
    }
    dimensions[rank++] = d;
  }
};

// The stride of a side along a dimension of the result counted from the end, 0 where it repeats.
int64_t stride_from_end(const Tensor& tensor, int64_t back) {
  if (back > tensor.dim() || tensor.size(-back) == 1) return 0;
  return tensor.stride(-back);
}

int64_t size_from_end(const Tensor& tensor, int64_t back) {
  return back > tensor.dim() ? 1 : tensor.size(-back);
}

Loop loop_of(const Tensor& a, const Tensor& b, const Tensor& out) {
  Loop loop;
  for (int64_t back = out.dim(); back >= 1; --back) {
    loop.add({out.size(-back), stride_from_end(a, back), stride_from_end(b, back)});
  }
  if (loop.rank == 0) loop.dimensions[loop.rank++] = {1, 0, 0};
  return loop;
}

void run_range(const Loop& loop, BinaryRun run, int64_t begin, int64_t end,
               void (*kernel)(const BinaryRun&)) {
  const Loop::Dimension& inner = loop.dimensions[loop.rank - 1];
  const float* a = run.a;
  const float* b = run.b;
  float* out = run.out;
  run.a_advances = inner.a_stride != 0;
  run.b_advances = inner.b_stride != 0;
  for (int64_t i = begin; i < end;) {
    const int64_t within = i % inner.size;
    int64_t rest = i / inner.size;
    int64_t a_offset = within * inner.a_stride;
    int64_t b_offset = within * inner.b_stride;
    for (size_t d = loop.rank - 1; d-- > 0;) {
      const Loop::Dimension& dimension = loop.dimensions[d];
      a_offset += rest % dimension.size * dimension.a_stride;
      b_offset += rest % dimension.size * dimension.b_stride;
      rest /= dimension.size;
    }
    run.a = a + a_offset;
    run.b = b + b_offset;
    run.out = out + i;
    run.count = std::min(inner.size - within, end - i);
    kernel(run);
    i += run.count;
  }
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
  context.parallel_for(self.numel(), kGrain, [&](int64_t begin, int64_t end) {
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
  const Loop loop = loop_of(a, b, out);
  const BinaryRun run{a.data<float>(), b.data<float>(), true, true, out.data<float>(), 0, scale};
  const auto function =
      ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels).binary[static_cast<int>(kernel)];
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    run_range(loop, run, begin, end, function);
  });
}

void binary_scalar(Context& context, BinaryKernel kernel, const Tensor& a, float b, Tensor& out,
                   float scale) {
  const Tensor number = Tensor::strided(ScalarType::kFloat, {}, {}, &b);
  binary(context, kernel, a, number, out, scale);
}

}  // namespace etlab
