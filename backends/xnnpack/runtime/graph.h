#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/xnnpack/runtime/payload_file.h"
#include "backends/xnnpack/runtime/shape.h"
#include "runtime/core/backend.h"
#include "runtime/core/scalar_type.h"

namespace etlab {

constexpr uint32_t kNoId = 0xFFFFFFFFu;

// How the numbers of a quantized value are meant.
struct Quantization {
  float scale = 1.0f;  // of the whole value
  int32_t zero_point = 0;
  const float* channel_scales = nullptr;  // (shape[channel_dim])
  size_t channel_dim = 0;
  const uint16_t* block_scales = nullptr;  // bfloat16 (output channels, input channels / block_size)
  int64_t block_size = 0;
  size_t row_dims = 0;  // last dimensions that share a scale found at run time
};

// One value of the payload. Constants have been checked to hold all of their elements.
struct GraphValue {
  uint32_t id = kNoId;
  payload::Datatype type = payload::Datatype::INVALID;
  Shape shape;  // as exported: with dynamic shapes the actual one may differ
  const uint8_t* constant = nullptr;
  std::string_view key;  // the name of the constant's bytes, empty when it has none
  uint32_t external_id = kNoId;  // the place among the delegate's arguments
  bool is_input = false;
  bool is_output = false;
  Quantization quantization;

  bool is_constant() const { return constant != nullptr; }
  template <typename T>
  const T* constant_as() const {
    return reinterpret_cast<const T*>(constant);
  }
};

// Bytes of elements in memory, two a byte for 4-bit types. Throws kInvalidProgram for types that
// have no memory form.
size_t bytes_of(payload::Datatype type, const Shape& shape);

// The dtype of a tensor that holds such a value; none for types that no node computes.
std::optional<ScalarType> scalar_type_of(payload::Datatype type);

// The values of a payload, every number in them checked. Keeps the bytes that it refers to.
class PayloadGraph {
 public:
  // `file` and the description's bytes must outlive the graph. Throws kInvalidProgram,
  // kNotSupported, kNotFound.
  PayloadGraph(const PayloadFile& file, const DelegateDescription& description);

  const std::vector<GraphValue>& values() const { return values_; }
  const GraphValue& value(size_t index) const { return values_[index]; }
  // Where a value of this id stands; throws kInvalidProgram when there is none.
  size_t index_of(uint32_t id) const;
  // A value of the runtime's own.
  size_t add_value(GraphValue value);
  // A float value of the same sizes; neither constant nor argument.
  size_t add_float(size_t like);
  // The float value that holds the numbers of a half one, kNone while there is none.
  static constexpr size_t kNone = ~size_t{0};
  size_t find_float_form(size_t half) const;
  void set_float_form(size_t half, size_t value) { float_forms_[half] = value; }
  void set_constant(size_t index, const float* numbers, std::string_view key);
  void set_type(size_t index, payload::Datatype type) { values_[index].type = type; }
  // Memory that lives as long as the graph.
  uint8_t* own(size_t bytes);
  // Inputs of old files that are to be quantized at run time: (float value, quantized value).
  const std::vector<std::pair<size_t, size_t>>& quantized_inputs() const {
    return quantized_inputs_;
  }

 private:
  struct Constant {
    Span<const uint8_t> bytes;
    std::string_view key;
  };
  void add_payload_value(const payload::Value& value);
  Constant constant(uint32_t index) const;
  // The bytes of `count` elements of T, aligned for it.
  template <typename T>
  const T* numbers(uint32_t index, size_t count, const char* what);
  const uint8_t* aligned(Span<const uint8_t> bytes, size_t alignment);
  void set_quantization(GraphValue& value, const payload::QuantizedTensorValue& source);
  void set_channel_scales(GraphValue& value, const payload::PerChannelQuant& source);
  void set_block_scales(GraphValue& value, const payload::PerChannelGroupQuant& source);
  void add_quantized_input(size_t float_value);

  const PayloadFile& file_;
  const DelegateDescription& description_;
  std::vector<GraphValue> values_;
  std::unordered_map<uint32_t, size_t> index_of_id_;
  std::vector<std::pair<size_t, size_t>> quantized_inputs_;
  std::unordered_map<size_t, size_t> float_forms_;
  std::vector<AlignedBuffer> owned_;
};

}  // namespace etlab
