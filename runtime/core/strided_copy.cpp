#include "runtime/core/strided_copy.h"

#include <array>
#include <cstring>

namespace etlab {

namespace {

// One run along the innermost dimension of the target; steps in bytes. memcpy of a fixed size is a
// plain move and takes any alignment.
template <size_t Bytes>
void copy_run(const uint8_t* source, int64_t source_step, uint8_t* target, int64_t target_step,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * target_step, source + i * source_step, Bytes);
  }
}

using CopyRun = void (*)(const uint8_t*, int64_t, uint8_t*, int64_t, int64_t);

CopyRun copy_run_of(size_t element_bytes) {
  switch (element_bytes) {
    case 1: return copy_run<1>;
    case 2: return copy_run<2>;
    case 4: return copy_run<4>;
    case 8: return copy_run<8>;
    default: return copy_run<16>;
  }
}

}  // namespace

void copy_elements(const Tensor& source, const Tensor& target) {
  if (target.numel() == 0) return;
  const auto bytes = static_cast<int64_t>(element_size(target.type()));
  const CopyRun copy = copy_run_of(static_cast<size_t>(bytes));
  const uint8_t* from = source.data<uint8_t>();
  uint8_t* to = target.data<uint8_t>();
  if (target.dim() == 0) return copy(from, 0, to, 0, 1);

  const Span<const uint8_t> order = target.dim_order();  // outermost first
  const size_t outer_count = order.size() - 1;
  const uint8_t inner = order[outer_count];
  std::array<int64_t, kMaxRank> index{};  // by position in `order`
  while (true) {
    copy(from, source.strides()[inner] * bytes, to, target.strides()[inner] * bytes,
         target.sizes()[inner]);
    size_t position = outer_count;
    while (position > 0) {
      const uint8_t dim = order[position - 1];
      from += source.strides()[dim] * bytes;
      to += target.strides()[dim] * bytes;
      if (++index[position - 1] < target.sizes()[dim]) break;
      from -= source.strides()[dim] * bytes * target.sizes()[dim];
      to -= target.strides()[dim] * bytes * target.sizes()[dim];
      index[--position] = 0;
    }
    if (position == 0) return;
  }
}

}  // namespace etlab
