#include "runtime/core/kernel.h"
#include "runtime/kernels/util/advanced_index.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void index_tensor_out(Context& context, const Tensor& self, OptionalTensors indices, Tensor& out) {
  constexpr const char* kName = "index";
  check_same_type(kName, self, out);
  const AdvancedIndex index(context, kName, self, indices);
  out.resize(index.shape());
  copy_from_indexed(context, element_size(self.type()), index.walk(out.strides()), out.raw(),
                    index.table, self.raw());
}

}  // namespace
ETLAB_KERNEL("aten::index.Tensor_out", index_tensor_out);
}  // namespace etlab
