#include "backends/xnnpack/runtime/operators/same_type.h"

#include "runtime/core/error.h"

namespace etlab {

void check_same_type(const OperatorBuilder& builder, size_t in, size_t out) {
  const GraphValue& a = builder.value(in);
  const GraphValue& b = builder.value(out);
  ETLAB_CHECK(a.type == b.type && a.type != payload::Datatype::QDINT8, kNotSupported,
              "an operand ", name_of(a.type), " with a result ", name_of(b.type));
  ETLAB_CHECK(a.quantization.scale == b.quantization.scale &&
                  a.quantization.zero_point == b.quantization.zero_point,
              kNotSupported, "operand and result are quantized differently");
}

}  // namespace etlab
