#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "repeat_interleave";

template <typename T>
void repeat_positions(const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  const T* counts = repeats.data<T>();
  const int64_t stride = repeats.stride(0);
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    const int64_t count = counts[i * stride];
    ETLAB_CHECK(count >= 0, kInvalidArgument, kName, ": repeats must not be negative, got ", count,
                " at position ", i);
    total = add_sizes(kName, total, count);
  }
  ETLAB_CHECK(output_size.value_or(total) == total, kInvalidArgument, kName,
              ": the repeats add up to ", total, ", not to the given size ",
              output_size.value_or(total));
  out.resize({&total, 1});
  T* positions = out.data<T>();
  const int64_t out_stride = out.stride(0);
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    for (int64_t k = 0; k < counts[i * stride] && total > 0; ++k, --total) {
      *positions = static_cast<T>(i);
      positions += out_stride;
    }
  }
}

void repeat_interleave_tensor_out(Context&, const Tensor& repeats,
                                  std::optional<int64_t> output_size, Tensor& out) {
  check_same_type(kName, repeats, out);
  ETLAB_CHECK(repeats.dim() == 1, kInvalidArgument, kName, ": expected repeats of rank 1, got ",
              describe(repeats));
  if (repeats.type() == ScalarType::kLong) {
    return repeat_positions<int64_t>(repeats, output_size, out);
  }
  check_type(kName, "repeats (unless they are int64)", repeats, ScalarType::kInt);
  repeat_positions<int32_t>(repeats, output_size, out);
}

}  // namespace
ETLAB_KERNEL("aten::repeat_interleave.Tensor_out", repeat_interleave_tensor_out);
}  // namespace etlab
