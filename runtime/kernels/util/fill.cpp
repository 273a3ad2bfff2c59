#include "runtime/kernels/util/fill.h"

#include "runtime/kernels/util/element_bits.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

void fill_with(Context& context, const char* op, const Scalar& value, Tensor& out) {
  const ElementBits bits(op, value, out.type());
  copy_view(context, bits.repeated(out.sizes()), StridedView(out));
}

}  // namespace etlab
