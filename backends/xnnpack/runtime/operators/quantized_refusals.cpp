#include "backends/xnnpack/runtime/operators/quantized_elementwise.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "backends/xnnpack/runtime/operators/quantized_pooling.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {
[[noreturn]] void refuse() {
  fail(ErrorKind::kNotSupported, "integer arithmetic of this kind of node");
}
}  // namespace

bool is_quantized_whole(const GraphValue& value) {
  return value.type == payload::Datatype::QINT8 || value.type == payload::Datatype::QUINT8;
}
bool is_quantized_operand(payload::Datatype type) {
  return type == payload::Datatype::QINT8 || type == payload::Datatype::QDINT8;
}
std::unique_ptr<Operator> make_quantized_binary(OperatorBuilder&, size_t, size_t, size_t) {
  refuse();
}
std::unique_ptr<Operator> make_quantized_unary(OperatorBuilder&, size_t, size_t) { refuse(); }
std::unique_ptr<Operator> make_quantized_fully_connected(OperatorBuilder&,
                                                         const payload::FullyConnected&) {
  refuse();
}
std::unique_ptr<Operator> make_quantized_convolution(OperatorBuilder&,
                                                     const payload::Convolution&) {
  refuse();
}
std::unique_ptr<Operator> make_quantized_max_pooling(OperatorBuilder&, size_t, size_t,
                                                     const Window&) {
  refuse();
}
std::unique_ptr<Operator> make_quantized_mean(OperatorBuilder&, size_t, size_t, bool) { refuse(); }

}  // namespace etlab
