#include "backends/xnnpack/runtime/operator.h"

#include <limits>

#include "backends/xnnpack/runtime/half.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kKinds = static_cast<size_t>(payload::NodeUnion::MAX) + 1;

MakeOperator* table() {
  static MakeOperator makers[kKinds] = {};
  return makers;
}

bool is_half(payload::Datatype type) {
  return type == payload::Datatype::FP16 || type == payload::Datatype::BF16;
}

}  // namespace

OperatorBuilder::OperatorBuilder(PayloadGraph& graph, const payload::Node& node)
    : graph_(graph),
      node_(node),
      lower_(-std::numeric_limits<float>::infinity()),
      upper_(std::numeric_limits<float>::infinity()) {
  if (const auto* limits = node.output_min_max()) {
    lower_ = limits->output_min();
    upper_ = limits->output_max();
  }
  ETLAB_CHECK(lower_ <= upper_, kInvalidProgram, "results are limited to the range from ", lower_,
              " to ", upper_, ", which is empty");
}

size_t OperatorBuilder::input(uint32_t id) {
  const size_t raw = graph_.index_of(id);
  size_t index = raw;
  if (is_half(graph_.value(raw).type)) {
    index = graph_.find_float_form(raw);
    if (index == PayloadGraph::kNone) {
      index = graph_.value(raw).is_constant() ? float_constant(raw) : graph_.add_float(raw);
      graph_.set_float_form(raw, index);
      if (!graph_.value(raw).is_constant()) before_.emplace_back(raw, index);
    }
  }
  inputs_.push_back(index);
  return index;
}

size_t OperatorBuilder::float_constant(size_t half) {
  const size_t index = graph_.add_float(half);
  const GraphValue& source = graph_.value(half);
  const auto count = static_cast<size_t>(source.shape.numel());
  auto* numbers = reinterpret_cast<float*>(graph_.own(count * sizeof(float) + 1));
  const auto* halves = source.constant_as<uint16_t>();
  const bool is_brain = source.type == payload::Datatype::BF16;
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = is_brain ? float_of_bfloat16(halves[i]) : float_of_float16(halves[i]);
  }
  graph_.set_constant(index, numbers, source.key);
  return index;
}

size_t OperatorBuilder::raw_input(uint32_t id) {
  inputs_.push_back(graph_.index_of(id));
  return inputs_.back();
}

std::optional<size_t> OperatorBuilder::optional_input(uint32_t id) {
  if (id == kNoId) return std::nullopt;
  return input(id);
}

size_t OperatorBuilder::output(uint32_t id) {
  const size_t raw = graph_.index_of(id);
  size_t index = raw;
  if (is_half(graph_.value(raw).type)) {
    index = graph_.add_float(raw);
    after_.emplace_back(index, raw);
  }
  outputs_.push_back(index);
  return index;
}

size_t OperatorBuilder::raw_output(uint32_t id) {
  outputs_.push_back(graph_.index_of(id));
  return outputs_.back();
}

bool OperatorBuilder::is_limited() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return lower_ != -kInfinity || upper_ != kInfinity;
}

void OperatorRegistry::add(payload::NodeUnion kind, MakeOperator make) noexcept {
  table()[static_cast<size_t>(kind)] = make;
}

MakeOperator OperatorRegistry::find(payload::NodeUnion kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kKinds ? table()[index] : nullptr;
}

const char* name_of(payload::Datatype type) {
  switch (type) {
    case payload::Datatype::FP32: return "float32";
    case payload::Datatype::FP16: return "float16";
    case payload::Datatype::BF16: return "bfloat16";
    case payload::Datatype::INT32: return "int32";
    case payload::Datatype::QINT8: return "qint8";
    case payload::Datatype::QUINT8: return "quint8";
    case payload::Datatype::QINT32: return "qint32";
    case payload::Datatype::QCINT8: return "qcint8";
    case payload::Datatype::QCINT32: return "qcint32";
    case payload::Datatype::QCINT4: return "qcint4";
    case payload::Datatype::QBINT4: return "qbint4";
    case payload::Datatype::QDINT8: return "qdint8";
    default: return "an unknown datatype";
  }
}

}  // namespace etlab
