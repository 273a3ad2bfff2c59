#include "backends/xnnpack/runtime/graph.h"

#include <cmath>
#include <cstring>

#include "runtime/core/checked.h"

namespace etlab {

namespace {

using payload::Datatype;

constexpr uint32_t kInputFlag = 1;
constexpr uint32_t kOutputFlag = 2;
constexpr uint32_t kMostExternals = 4096;
constexpr size_t kConstantAlignment = 16;

Shape shape_of(const payload::TensorValue& tensor) {
  int64_t sizes[kMaxPayloadRank];
  const size_t rank = count(tensor.dims());
  ETLAB_CHECK(rank <= kMaxPayloadRank && rank == tensor.num_dims(), kInvalidProgram, "value ",
              tensor.id_out(), " has ", rank, " sizes and says ", tensor.num_dims(), ", at most ",
              kMaxPayloadRank, " are supported");
  for (size_t i = 0; i < rank; ++i) sizes[i] = tensor.dims()->Get(static_cast<uint32_t>(i));
  return Shape({sizes, rank});
}

bool is_scale(float scale) { return std::isfinite(scale) && scale > 0.0f; }

}  // namespace

size_t bytes_of(Datatype type, const Shape& shape) {
  const auto numel = static_cast<size_t>(shape.numel());
  switch (type) {
    case Datatype::FP32:
    case Datatype::QINT32:
    case Datatype::QCINT32:
    case Datatype::INT32: return 4 * numel;
    case Datatype::FP16:
    case Datatype::BF16: return 2 * numel;
    case Datatype::QINT8:
    case Datatype::QUINT8:
    case Datatype::QCINT8:
    case Datatype::QDINT8: return numel;
    case Datatype::QCINT4:
    case Datatype::QBINT4: {
      if (shape.rank() == 0) return 1;
      const auto last = static_cast<size_t>(shape.from_end(1));
      return last == 0 ? 0 : numel / last * ((last + 1) / 2);
    }
    default: break;
  }
  fail(ErrorKind::kNotSupported, "datatype ", static_cast<int>(type),
       " of a value is not supported");
}

std::optional<ScalarType> scalar_type_of(Datatype type) {
  switch (type) {
    case Datatype::FP32: return ScalarType::kFloat;
    case Datatype::FP16: return ScalarType::kHalf;
    case Datatype::BF16: return ScalarType::kBFloat16;
    case Datatype::INT32: return ScalarType::kInt;
    case Datatype::QINT8:
    case Datatype::QDINT8: return ScalarType::kChar;
    case Datatype::QUINT8: return ScalarType::kByte;
    default: return std::nullopt;
  }
}

PayloadGraph::PayloadGraph(const PayloadFile& file, const DelegateDescription& description)
    : file_(file), description_(description) {
  ETLAB_CHECK(file.graph->num_externs() <= kMostExternals, kInvalidProgram, "the payload has ",
              file.graph->num_externs(), " inputs and outputs, at most ", kMostExternals,
              " are possible; it is damaged");
  for (uint32_t i = 0; i < file.graph->xvalues()->size(); ++i) {
    add_payload_value(*file.graph->xvalues()->Get(i));
  }
}

size_t PayloadGraph::index_of(uint32_t id) const {
  const auto found = index_of_id_.find(id);
  ETLAB_CHECK(found != index_of_id_.end(), kInvalidProgram, "no value has the id ", id,
              "; the payload is damaged");
  return found->second;
}

size_t PayloadGraph::add_value(GraphValue value) {
  values_.push_back(std::move(value));
  return values_.size() - 1;
}

size_t PayloadGraph::add_float(size_t like) {
  GraphValue value;
  value.id = values_[like].id;
  value.type = Datatype::FP32;
  value.shape = values_[like].shape;
  return add_value(value);
}

size_t PayloadGraph::find_float_form(size_t half) const {
  const auto found = float_forms_.find(half);
  return found == float_forms_.end() ? kNone : found->second;
}

void PayloadGraph::set_constant(size_t index, const float* numbers, std::string_view key) {
  values_[index].constant = reinterpret_cast<const uint8_t*>(numbers);
  values_[index].key = key;
}

uint8_t* PayloadGraph::own(size_t bytes) {
  owned_.emplace_back(bytes, "a constant of an XNNPACK delegate");
  return owned_.back().data();
}

void PayloadGraph::add_payload_value(const payload::Value& source) {
  const auto* quantized = source.xvalue_union_as_QuantizedTensorValue();
  const auto* tensor =
      quantized != nullptr ? quantized->tensor_value() : source.xvalue_union_as_TensorValue();
  ETLAB_CHECK(tensor != nullptr, kInvalidProgram, "value ", values_.size(),
              " of the payload is no tensor; it is damaged");
  GraphValue value;
  value.id = tensor->id_out();
  value.type = tensor->datatype();
  value.shape = shape_of(*tensor);
  const size_t bytes = bytes_of(value.type, value.shape);
  ETLAB_CHECK((tensor->flags() & ~(kInputFlag | kOutputFlag)) == 0, kInvalidProgram, "value ",
              value.id, " has unknown flags ", tensor->flags());
  value.is_input = (tensor->flags() & kInputFlag) != 0;
  value.is_output = (tensor->flags() & kOutputFlag) != 0;
  if (value.is_input || value.is_output) value.external_id = tensor->external_id();
  if (tensor->constant_buffer_idx() != 0) {
    const Constant found = constant(tensor->constant_buffer_idx());
    ETLAB_CHECK(found.bytes.size() >= bytes, kInvalidProgram, "value ", value.id, " of shape ",
                describe(value.shape), " needs ", bytes, " bytes, its constant has ",
                found.bytes.size());
    ETLAB_CHECK(!value.is_input && !value.is_output, kInvalidProgram, "value ", value.id,
                " is a constant and an argument at once; the payload is damaged");
    value.constant = aligned(found.bytes, kConstantAlignment);
    value.key = found.key;
  }
  if (quantized != nullptr) set_quantization(value, *quantized);
  ETLAB_CHECK(index_of_id_.emplace(value.id, values_.size()).second, kInvalidProgram,
              "two values have the id ", value.id, "; the payload is damaged");
  values_.push_back(value);
  if (tensor->dq_datatype() != Datatype::INVALID) {
    ETLAB_CHECK(tensor->dq_datatype() == Datatype::QINT8 && value.is_input && quantized == nullptr,
                kInvalidProgram, "value ", value.id,
                " is to be quantized at run time, which only float inputs can be, to int8");
    add_quantized_input(values_.size() - 1);
  }
}

// Nodes that name the float input read its quantized form.
void PayloadGraph::add_quantized_input(size_t float_value) {
  GraphValue quantized = values_[float_value];
  quantized.type = Datatype::QDINT8;
  quantized.is_input = false;
  quantized.external_id = kNoId;
  quantized.quantization.row_dims = 1;
  ETLAB_CHECK(quantized.shape.rank() >= 1, kInvalidProgram, "value ", quantized.id,
              " is to be quantized by rows and has no dimension");
  index_of_id_[quantized.id] = add_value(quantized);
  quantized_inputs_.emplace_back(float_value, values_.size() - 1);
}

PayloadGraph::Constant PayloadGraph::constant(uint32_t index) const {
  if (!file_.has_constant_region) {
    const auto* buffers = file_.graph->constant_buffer();
    ETLAB_CHECK(index < count(buffers) && buffers->Get(index)->storage() != nullptr,
                kInvalidProgram, "constant ", index, ": the payload has ", count(buffers),
                "; it is damaged");
    const auto& storage = *buffers->Get(index)->storage();
    return {{storage.data(), storage.size()}, {}};
  }
  const auto* table = file_.graph->constant_data();
  ETLAB_CHECK(index < count(table), kInvalidProgram, "constant ", index, ": the payload has ",
              count(table), "; it is damaged");
  const payload::ConstantDataOffset& entry = *table->Get(index);
  if (entry.named_key() != nullptr) {
    const std::string_view key = entry.named_key()->string_view();
    return {description_.named_data.get(key), key};
  }
  ETLAB_CHECK(entry.offset() <= file_.constants.size() &&
                  entry.size() <= file_.constants.size() - entry.offset(),
              kInvalidProgram, "constant ", index, " has ", entry.size(), " bytes at ",
              entry.offset(), ", the payload has ", file_.constants.size(), "; it is damaged");
  return {file_.constants.subspan(entry.offset(), entry.size()), {}};
}

const uint8_t* PayloadGraph::aligned(Span<const uint8_t> bytes, size_t alignment) {
  static const uint8_t nothing[kConstantAlignment] = {};
  if (bytes.empty()) return nothing;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0) return bytes.data();
  uint8_t* copy = own(bytes.size());
  std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

template <typename T>
const T* PayloadGraph::numbers(uint32_t index, size_t needed, const char* what) {
  const Constant found = constant(index);
  ETLAB_CHECK(found.bytes.size() / sizeof(T) >= needed, kInvalidProgram, what, " need ",
              needed * sizeof(T), " bytes, their constant has ", found.bytes.size());
  return reinterpret_cast<const T*>(aligned(found.bytes, sizeof(T)));
}

void PayloadGraph::set_quantization(GraphValue& value,
                                    const payload::QuantizedTensorValue& source) {
  if (const auto* whole = source.quant_params_as_PerTensorQuant()) {
    value.quantization.scale = whole->scale();
    value.quantization.zero_point = whole->zero_point();
    const int32_t lowest = value.type == Datatype::QUINT8 ? 0 : -128;
    ETLAB_CHECK(is_scale(whole->scale()), kInvalidProgram, "value ", value.id,
                ": a scale must be positive, got ", whole->scale());
    ETLAB_CHECK(whole->zero_point() >= lowest && whole->zero_point() <= lowest + 255,
                kInvalidProgram, "value ", value.id, ": zero point ", whole->zero_point(),
                " is outside of its type");
  } else if (const auto* channels = source.quant_params_as_PerChannelQuant()) {
    set_channel_scales(value, *channels);
  } else if (const auto* blocks = source.quant_params_as_PerChannelGroupQuant()) {
    set_block_scales(value, *blocks);
  } else if (const auto* rows = source.quant_params_as_PerTokenDynamicQuant()) {
    const int64_t dims = rows->num_nonbatch_dims();
    ETLAB_CHECK(value.type == Datatype::QDINT8 && !value.is_constant() && dims >= 1 &&
                    dims <= static_cast<int64_t>(value.shape.rank()),
                kInvalidProgram, "value ", value.id, " of shape ", describe(value.shape),
                " is quantized at run time over its last ", dims, " dimensions");
    ETLAB_CHECK(!value.is_input && !value.is_output, kNotSupported, "value ", value.id,
                ": values quantized at run time cannot be arguments of the delegate");
    value.quantization.row_dims = static_cast<size_t>(dims);
  } else {
    fail(ErrorKind::kInvalidProgram, "value ", value.id,
         " is quantized in a way that this version does not know");
  }
}

void PayloadGraph::set_channel_scales(GraphValue& value, const payload::PerChannelQuant& source) {
  const int64_t dim = source.channel_dim();
  ETLAB_CHECK(dim >= 0 && dim < static_cast<int64_t>(value.shape.rank()), kInvalidProgram,
              "value ", value.id, " has scales along dimension ", dim, ", its shape is ",
              describe(value.shape));
  value.quantization.channel_dim = static_cast<size_t>(dim);
  const auto channels = static_cast<size_t>(value.shape[value.quantization.channel_dim]);
  if (source.scale_buffer_idx() != 0) {
    value.quantization.channel_scales =
        numbers<float>(source.scale_buffer_idx(), channels, "the scales of a value");
  } else {
    ETLAB_CHECK(count(source.scale()) >= channels, kInvalidProgram, "value ", value.id, " has ",
                count(source.scale()), " scales for ", channels, " channels");
    if (channels > 0) value.quantization.channel_scales = source.scale()->data();
  }
  for (size_t i = 0; i < channels; ++i) {
    ETLAB_CHECK(is_scale(value.quantization.channel_scales[i]), kInvalidProgram, "value ",
                value.id, ": a scale must be positive, got ",
                value.quantization.channel_scales[i]);
  }
}

void PayloadGraph::set_block_scales(GraphValue& value,
                                    const payload::PerChannelGroupQuant& source) {
  const int64_t block = source.group_size();
  ETLAB_CHECK(value.type == Datatype::QBINT4 && value.shape.rank() == 2 && block > 0 &&
                  block % 32 == 0 && value.shape[1] % block == 0,
              kInvalidProgram, "value ", value.id, " of shape ", describe(value.shape),
              " has scales for blocks of ", block,
              "; a 4-bit matrix with whole blocks of a multiple of 32 is expected");
  value.quantization.block_size = block;
  const auto needed = static_cast<size_t>(value.shape.numel() / block);
  if (source.scale_buffer_idx() != 0) {
    value.quantization.block_scales =
        numbers<uint16_t>(source.scale_buffer_idx(), needed, "the block scales of a value");
    return;
  }
  ETLAB_CHECK(count(source.scale()) >= needed, kInvalidProgram, "value ", value.id, " has ",
              count(source.scale()), " block scales, needs ", needed);
  auto* scales = reinterpret_cast<uint16_t*>(own(needed * sizeof(uint16_t)));
  for (size_t i = 0; i < needed; ++i) {
    // Old files: scaled by 1 + 2^-8 before the low half is dropped, as their reader does.
    const float adjusted = source.scale()->data()[i] * 1.00389105f;
    uint32_t bits;
    std::memcpy(&bits, &adjusted, sizeof(bits));
    scales[i] = static_cast<uint16_t>(bits >> 16);
  }
  value.quantization.block_scales = scales;
}

}  // namespace etlab
