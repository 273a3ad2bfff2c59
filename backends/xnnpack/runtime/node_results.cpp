#include "backends/xnnpack/runtime/node_results.h"

#include <vector>

#include "runtime/core/error.h"

namespace etlab {

void report_result(NodeObserver& observer, const PayloadGraph& graph, size_t index,
                   const Operand& operand) {
  const GraphValue& value = graph.value(index);
  const auto type = scalar_type_of(value.type);
  ETLAB_CHECK(type, kInternal, "value ", value.id, " is ", name_of(value.type),
              ", which no node computes");
  const Tensor tensor(*type, operand.shape.sizes(), {}, operand.data,
                      bytes_of(value.type, operand.shape));
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  if (value.quantization.row_dims > 0) {
    const Shape& shape = operand.shape;
    const int64_t rows = shape.product(0, shape.rank() - value.quantization.row_dims);
    for (int64_t row = 0; row < rows && shape.numel() > 0; ++row) {
      scales.push_back(operand.rows[row].scale);
      zero_points.push_back(operand.rows[row].zero_point);
    }
  } else if (value.type == payload::Datatype::QINT8 || value.type == payload::Datatype::QUINT8) {
    scales.push_back(value.quantization.scale);
    zero_points.push_back(value.quantization.zero_point);
  }
  observer.on_result({value.id, tensor, scales, zero_points});
}

}  // namespace etlab
