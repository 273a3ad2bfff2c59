#include "runtime/core/etdump.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/core/error.h"
#include "runtime/schema/etdump_generated.h"

namespace etlab {

namespace {

namespace fb = schema::etdump;

constexpr uint32_t kVersion = 0;
constexpr int kWholeMethod = -1;  // the chain of events that belong to no instruction
constexpr int kNoDelegateId = -1;
constexpr int kNoTestCase = -1;
constexpr uint32_t kNoDebugHandle = 65535;  // of nodes that ExecuTorch's compiler adds
constexpr size_t kAlignment = 16;
constexpr size_t kMostEvents = size_t{1} << 22;  // a FlatBuffer has at most 2 GiB

const char* call_name(const std::string& kind) {
  if (kind == "kernel") return "OPERATOR_CALL";
  if (kind == "delegate") return "DELEGATE_CALL";
  if (kind == "move") return "MOVE_CALL";
  if (kind == "free") return "FREE_CALL";
  return "JF_CALL";
}

// Operators on numbers have no event and no results of their own in ExecuTorch.
bool has_own_event(const InstructionInfo& instruction) {
  const std::string& name = instruction.name;
  return instruction.kind == "kernel" && name.rfind("executorch_prim::", 0) != 0 &&
         name != "aten::sym_size.int" && name != "aten::sym_numel" &&
         name != "aten::_local_scalar_dense";
}

// "native_call_add.out" of "aten::add.out".
std::string own_event_name(const std::string& name) {
  const size_t colons = name.find("::");
  return "native_call_" + (colons == std::string::npos ? name : name.substr(colons + 2));
}

bool is_storable(ScalarType type) { return !is_complex(type); }

size_t element_count(const RunTrace::StoredTensor& stored) {
  size_t count = 1;
  for (const int64_t size : stored.sizes) count *= static_cast<size_t>(size);
  return count;
}

size_t byte_count(const RunTrace::StoredTensor& stored) {
  return element_count(stored) * element_size(stored.type);
}

template <typename T>
void append(const RunTrace::NodeValue& value, const uint8_t* bytes, std::vector<uint8_t>* out) {
  const size_t count = element_count(value.tensor);
  const size_t row = std::max<size_t>(count / value.scales.size(), 1);
  const size_t begin = out->size();
  out->resize(begin + count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    const size_t place = std::min(i / row, value.scales.size() - 1);
    const auto whole = static_cast<int64_t>(element) - value.zero_points[place];
    const float number = static_cast<float>(whole) * value.scales[place];
    std::memcpy(out->data() + begin + i * sizeof(float), &number, sizeof(float));
  }
}

// Quantized elements as float32; false for types that no backend quantizes to.
bool append_numbers(const RunTrace::NodeValue& value, const uint8_t* bytes,
                    std::vector<uint8_t>* out) {
  switch (value.tensor.type) {
    case ScalarType::kChar: append<int8_t>(value, bytes, out); return true;
    case ScalarType::kByte: append<uint8_t>(value, bytes, out); return true;
    case ScalarType::kInt: append<int32_t>(value, bytes, out); return true;
    default: return false;
  }
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * std::max<int64_t>(sizes[i - 1], 1);
  }
  return strides;
}

// Readers of ETDumps may take no other order: elements of `width` bytes, the last dimension fastest.
void append_row_major(const std::vector<uint8_t>& elements, size_t width,
                      const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                      std::vector<uint8_t>* out) {
  const size_t begin = out->size();
  out->resize(begin + elements.size());
  std::vector<int64_t> place(sizes.size(), 0);
  size_t from = 0;
  for (size_t to = 0; to < elements.size(); to += width) {
    std::memcpy(out->data() + begin + to, elements.data() + from * width, width);
    for (size_t dim = sizes.size(); dim-- > 0;) {
      from += static_cast<size_t>(strides[dim]);
      if (++place[dim] < sizes[dim]) break;
      from -= static_cast<size_t>(strides[dim] * sizes[dim]);
      place[dim] = 0;
    }
  }
}

class Writer {
 public:
  void add(const TracedMethod& method) {
    const LoadTimes& load = method.load;
    add_profile("Method::init", kWholeMethod, 0, load.prepare, load.end);
    add_profile("Program::load_method", kWholeMethod, 0, load.begin, load.end);
    end_block("Default", kNoTestCase);
    for (const RunTrace* run : method.runs) add_run(*method.meta, *run, method.orders);
  }

  Etdump finish() {
    builder_.FinishSizePrefixed(
        fb::CreateETDump(builder_, kVersion, builder_.CreateVector(blocks_)),
        fb::ETDumpIdentifier());
    const uint8_t* begin = builder_.GetBufferPointer();
    return {{begin, begin + builder_.GetSize()}, std::move(tensors_)};
  }

 private:
  void add_run(const MethodMeta& meta, const RunTrace& run, const ValueOrders& orders) {
    tensors_.resize((tensors_.size() + kAlignment - 1) / kAlignment * kAlignment);
    base_ = tensors_.size();
    tensors_.insert(tensors_.end(), run.bytes().begin(), run.bytes().end());
    const std::vector<RunTrace::Node> nodes = run.nodes();
    size_t node = 0;
    size_t result = 0;
    for (const RunTrace::Event& event : run.events()) {
      const InstructionInfo& instruction = meta.instructions.at(event.instruction);
      const int id = static_cast<int>(event.instruction);
      const auto known = orders.find(event.instruction);
      add_nodes(run, nodes, node, event.nodes_end, id,
                known == orders.end() ? nullptr : &known->second);
      node = event.nodes_end;
      const bool is_own = has_own_event(instruction);
      for (; result < event.results_end; ++result) {
        if (is_own || instruction.kind == "delegate") add_result(run.results()[result], 0, id, false);
      }
      if (is_own) {
        add_profile(own_event_name(instruction.name), 0, id, event.begin, event.end);
      }
      add_profile(call_name(instruction.kind), 0, id, event.begin, event.end);
    }
    add_profile("Method::execute", kWholeMethod, 0, run.begin(), run.end());
    for (; result < run.results().size(); ++result) {
      add_result(run.results()[result], kWholeMethod, 0, true);
    }
    end_block("Execute", run.bundled_input_index());
  }

  void add_nodes(const RunTrace& run, const std::vector<RunTrace::Node>& nodes, size_t begin,
                 size_t end, int instruction,
                 const std::map<uint32_t, std::vector<size_t>>* orders) {
    std::unordered_map<std::string, int> counts;
    for (size_t i = begin; i < end; ++i) {
      const RunTrace::Node& node = nodes[i];
      std::string name = run.name_of(node);
      if (node.debug_handle != 0 && node.debug_handle != kNoDebugHandle) {
        name += concat(" [", node.debug_handle, "]");
      }
      const int number = ++counts[name];
      if (number > 1) name += concat(" (", number, ")");
      const size_t first_value = i == 0 ? 0 : nodes[i - 1].values_end;
      for (size_t k = first_value; orders != nullptr && k < node.values_end; ++k) {
        const RunTrace::NodeValue& value = run.node_values()[k];
        const auto order = orders->find(value.value);
        if (order != orders->end()) add_value(run, value, order->second, instruction, name);
      }
      add_event(fb::CreateProfileEvent(builder_, 0, 0, instruction, kNoDelegateId,
                                       builder_.CreateSharedString(name), 0,
                                       static_cast<uint64_t>(node.begin),
                                       static_cast<uint64_t>(node.end)));
    }
  }

  // One value of a node, as the numbers it stands for, in the order of the node's result.
  void add_value(const RunTrace& run, const RunTrace::NodeValue& value,
                 const std::vector<size_t>& order, int instruction, const std::string& node) {
    const RunTrace::StoredTensor& stored = value.tensor;
    const size_t rank = stored.sizes.size();
    std::vector<int64_t> sizes(rank);
    std::vector<int64_t> strides(rank);
    std::vector<bool> is_placed(rank, false);
    if (order.size() != rank || !is_storable(stored.type)) return;
    for (size_t i = 0; i < rank; ++i) {
      if (order[i] >= rank || is_placed[order[i]]) return;
      is_placed[order[i]] = true;
      sizes[order[i]] = stored.sizes[i];
      strides[order[i]] = stored.strides[i];
    }
    const uint8_t* elements = run.node_bytes().data() + stored.offset;
    std::vector<uint8_t> numbers;
    ScalarType type = ScalarType::kFloat;
    if (value.scales.empty()) {
      type = stored.type;
      numbers.assign(elements, elements + byte_count(stored));
    } else if (!append_numbers(value, elements, &numbers)) {
      return;
    }
    tensors_.resize((tensors_.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t offset = tensors_.size();
    append_row_major(numbers, element_size(type), sizes, strides, &tensors_);
    const auto tensor = fb::CreateTensor(
        builder_, static_cast<schema::ScalarType>(type), builder_.CreateVector(sizes),
        builder_.CreateVector(row_major_strides(sizes)), static_cast<int64_t>(offset));
    const auto entry = fb::CreateValue(builder_, fb::ValueType::Tensor, tensor);
    push(fb::CreateEvent(builder_, 0, 0,
                         fb::CreateDebugEvent(builder_, 0, instruction, entry, kNoDelegateId,
                                              builder_.CreateSharedString(node))));
  }

  void add_profile(std::string_view name, int chain, int instruction, int64_t begin, int64_t end) {
    add_event(fb::CreateProfileEvent(
        builder_, builder_.CreateSharedString(name.data(), name.size()), chain, instruction,
        kNoDelegateId, 0, 0, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)));
  }

  void add_event(flatbuffers::Offset<fb::ProfileEvent> event) {
    push(fb::CreateEvent(builder_, event));
  }

  void push(flatbuffers::Offset<fb::Event> event) {
    ETLAB_CHECK(++count_ <= kMostEvents, kNotSupported, "an ETDump of more than ", kMostEvents,
                " events would not fit into one file; trace fewer runs");
    events_.push_back(event);
  }

  flatbuffers::Offset<fb::Tensor> tensor(const RunTrace::StoredTensor& stored) {
    const std::vector<int64_t> strides = row_major_strides(stored.sizes);
    size_t offset = base_ + stored.offset;
    if (stored.strides != strides) {
      const auto first = tensors_.begin() + static_cast<std::ptrdiff_t>(offset);
      const std::vector<uint8_t> elements(
          first, first + static_cast<std::ptrdiff_t>(byte_count(stored)));
      tensors_.resize((tensors_.size() + kAlignment - 1) / kAlignment * kAlignment);
      offset = tensors_.size();
      append_row_major(elements, element_size(stored.type), stored.sizes, stored.strides,
                       &tensors_);
    }
    return fb::CreateTensor(builder_, static_cast<schema::ScalarType>(stored.type),
                            builder_.CreateVector(stored.sizes), builder_.CreateVector(strides),
                            static_cast<int64_t>(offset));
  }

  void add_result(const RunTrace::Stored& stored, int chain, int instruction, bool is_output) {
    flatbuffers::Offset<fb::Value> value;
    const auto output = is_output ? fb::CreateBool(builder_, true) : 0;
    if (const auto* one = std::get_if<RunTrace::StoredTensor>(&stored)) {
      if (!is_storable(one->type)) return;
      value = fb::CreateValue(builder_, fb::ValueType::Tensor, tensor(*one), 0, 0, 0, 0, 0, output);
    } else if (const auto* list = std::get_if<std::vector<RunTrace::StoredTensor>>(&stored)) {
      std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
      for (const RunTrace::StoredTensor& item : *list) {
        if (!is_storable(item.type)) return;
        tensors.push_back(tensor(item));
      }
      value = fb::CreateValue(builder_, fb::ValueType::TensorList, 0,
                              fb::CreateTensorList(builder_, builder_.CreateVector(tensors)), 0, 0,
                              0, 0, output);
    } else if (const auto* number = std::get_if<int64_t>(&stored)) {
      value = fb::CreateValue(builder_, fb::ValueType::Int, 0, 0, fb::CreateInt(builder_, *number));
    } else if (const auto* real = std::get_if<double>(&stored)) {
      value = fb::CreateValue(builder_, fb::ValueType::Double, 0, 0, 0, 0,
                              fb::CreateDouble(builder_, *real));
    } else {
      value = fb::CreateValue(builder_, fb::ValueType::Bool, 0, 0, 0, 0, 0,
                              fb::CreateBool(builder_, std::get<bool>(stored)));
    }
    push(fb::CreateEvent(
        builder_, 0, 0,
        fb::CreateDebugEvent(builder_, static_cast<uint64_t>(static_cast<int64_t>(chain)),
                             instruction, value)));
  }

  void end_block(const char* name, int bundled_input_index) {
    blocks_.push_back(fb::CreateRunData(builder_, builder_.CreateSharedString(name), bundled_input_index, 0,
                                        builder_.CreateVector(events_)));
    events_.clear();
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<fb::RunData>> blocks_;
  std::vector<flatbuffers::Offset<fb::Event>> events_;  // of the block that is written
  std::vector<uint8_t> tensors_;
  size_t base_ = 0;  // where the tensors of the run begin
  size_t count_ = 0;
};

}  // namespace

Etdump write_etdump(Span<const TracedMethod> methods) {
  Writer writer;
  for (const TracedMethod& method : methods) writer.add(method);
  return writer.finish();
}

}  // namespace etlab
