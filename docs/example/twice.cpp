// A kernel for an operator of one's own, in Python
//
//   library = torch.library.Library("example", "DEF")
//   library.define("twice(Tensor x) -> Tensor")
//   library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
//
// Its parameters are those of the schema in order. The last line registers it; nothing else names
// this file.

#include "runtime/core/kernel.h"
#include "runtime/core/strided_copy.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {
namespace {

void twice_out(Context& context, const Tensor& x, Tensor& out) {
  ETLAB_CHECK(x.type() == out.type(), kInvalidArgument, "example::twice.out: x is ",
              name_of(x.type()), ", out is ", name_of(out.type()));
  out.resize(x.sizes());
  copy_elements(x, out);  // into the layout of `out`, whatever that of `x` is
  dispatch<RealTypes>(out.type(), "example::twice.out", [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* elements = out.data<T>();
    context.parallel_for(out.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) elements[i] = static_cast<T>(elements[i] + elements[i]);
    });
  });
}

}  // namespace
ETLAB_CUSTOM_KERNEL("example::twice.out", twice_out);
}  // namespace etlab
