#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void masked_scatter_out(Context& context, const Tensor& self, const Tensor& mask,
                        const Tensor& source, Tensor& out) {
  constexpr const char* kName = "masked_scatter";
  check_same_type(kName, self, out);
  check_same_type(kName, self, source);
  check_type(kName, "mask", mask, ScalarType::kBool);
  const StridedWalk<2> shape = broadcast_walk(kName, self, mask);
  const uint8_t* mask_data = mask.data<uint8_t>();
  int64_t count = 0;
  shape.for_each_element([&](const auto& offsets) { count += mask_data[offsets[1]] != 0; });
  ETLAB_CHECK(count <= source.numel(), kInvalidArgument, kName, ": the mask takes ", count,
              " elements, the source has ", source.numel());
  StridedView from;
  from.data = self.data<std::byte>();
  from.element_bytes = element_size(self.type());
  for (size_t dim = 0; dim < shape.rank; ++dim) {
    from.insert(dim, shape.sizes[dim], shape.strides[0][dim]);
  }
  out.resize(from.shape());
  // Where the source's elements go is noted before anything is written, for outputs may alias
  // masks.
  int64_t* targets = context.allocate<int64_t>(count);
  broadcast_walk(kName, out, mask)
      .for_each_element([&, next = targets](const auto& offsets) mutable {
        if (mask_data[offsets[1]] != 0) *next++ = offsets[0];
      });
  copy_view(context, from, StridedView(out));
  if (count == 0) return;
  StridedWalk<1> source_walk;
  for (int64_t dim = 0; dim < source.dim(); ++dim) {
    source_walk.append(source.size(dim), {source.stride(dim)});
  }
  source_walk.append(1, {0});
  dispatch_bytes(from.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    const T* source_data = source.data<T>();
    T* destination = out.data<T>();
    source_walk.for_each_row(0, count, [&, next = targets](const auto& offset) mutable {
      destination[*next++] = source_data[offset[0]];
    });
  });
}

}  // namespace
ETLAB_KERNEL("aten::masked_scatter.out", masked_scatter_out);
}  // namespace etlab
