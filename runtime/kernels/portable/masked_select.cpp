#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void masked_select_out(Context&, const Tensor& self, const Tensor& mask, Tensor& out) {
  constexpr const char* kName = "masked_select";
  check_same_type(kName, self, out);
  check_type(kName, "mask", mask, ScalarType::kBool);
  const StridedWalk<2> walk = broadcast_walk(kName, self, mask);
  const uint8_t* mask_data = mask.data<uint8_t>();
  int64_t count = 0;
  walk.for_each_element([&](const auto& offsets) { count += mask_data[offsets[1]] != 0; });
  out.resize({&count, 1});
  const int64_t stride = out.stride(0);
  dispatch_bytes(element_size(self.type()), [&](auto zero) {
    using T = decltype(zero);
    const T* source = self.data<T>();
    T* destination = out.data<T>();
    walk.for_each_element([&, left = count](const auto& offsets) mutable {
      if (mask_data[offsets[1]] == 0 || left-- <= 0) return;  // the output may alias the mask
      *destination = source[offsets[0]];
      destination += stride;
    });
  });
}

}  // namespace
ETLAB_KERNEL("aten::masked_select.out", masked_select_out);
}  // namespace etlab
