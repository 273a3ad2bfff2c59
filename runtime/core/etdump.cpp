#include "runtime/core/etdump.h"

#include <algorithm>
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

class Writer {
 public:
  void add(const TracedMethod& method) {
    const LoadTimes& load = method.load;
    add_profile("Method::init", kWholeMethod, 0, load.prepare, load.end);
    add_profile("Program::load_method", kWholeMethod, 0, load.begin, load.end);
    end_block("Default", kNoTestCase);
    for (const RunTrace* run : method.runs) add_run(*method.meta, *run);
  }

  Etdump finish() {
    builder_.FinishSizePrefixed(
        fb::CreateETDump(builder_, kVersion, builder_.CreateVector(blocks_)),
        fb::ETDumpIdentifier());
    const uint8_t* begin = builder_.GetBufferPointer();
    return {{begin, begin + builder_.GetSize()}, std::move(tensors_)};
  }

 private:
  void add_run(const MethodMeta& meta, const RunTrace& run) {
    tensors_.resize((tensors_.size() + kAlignment - 1) / kAlignment * kAlignment);
    base_ = tensors_.size();
    tensors_.insert(tensors_.end(), run.bytes().begin(), run.bytes().end());
    size_t node = 0;
    size_t result = 0;
    for (const RunTrace::Event& event : run.events()) {
      const InstructionInfo& instruction = meta.instructions.at(event.instruction);
      const int id = static_cast<int>(event.instruction);
      add_nodes(run, node, event.nodes_end, id);
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

  void add_nodes(const RunTrace& run, size_t begin, size_t end, int instruction) {
    std::unordered_map<std::string, int> counts;
    for (size_t i = begin; i < end; ++i) {
      const RunTrace::Node& node = run.nodes()[i];
      std::string name = run.name_of(node);
      if (node.debug_handle != 0 && node.debug_handle != kNoDebugHandle) {
        name += concat(" [", node.debug_handle, "]");
      }
      const int number = ++counts[name];
      if (number > 1) name += concat(" (", number, ")");
      add_event(fb::CreateProfileEvent(builder_, 0, 0, instruction, kNoDelegateId,
                                       builder_.CreateSharedString(name), 0,
                                       static_cast<uint64_t>(node.begin),
                                       static_cast<uint64_t>(node.end)));
    }
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
    return fb::CreateTensor(builder_, static_cast<schema::ScalarType>(stored.type),
                            builder_.CreateVector(stored.sizes),
                            builder_.CreateVector(stored.strides),
                            static_cast<int64_t>(base_ + stored.offset));
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
