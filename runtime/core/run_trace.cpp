#include "runtime/core/run_trace.h"

#include <algorithm>
#include <cstring>

namespace etlab {

namespace {

constexpr size_t kAlignment = 16;

// Several results come as a list behind the results themselves, which a list of its own is not.
const TensorList* several_results(Span<Value* const> arguments) {
  const size_t count = arguments.size();
  const auto* list = arguments[count - 1]->get_if<TensorList>();
  if (list == nullptr) return nullptr;
  return count > 1 && arguments[count - 2]->is<TensorList>() ? nullptr : list;
}

RunTrace::StoredTensor store_tensor(const Tensor& tensor, std::vector<uint8_t>& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
  const size_t offset = bytes.size();
  const auto* elements = static_cast<const uint8_t*>(tensor.raw());
  if (tensor.nbytes() > 0) bytes.insert(bytes.end(), elements, elements + tensor.nbytes());
  return {tensor.type(), {tensor.sizes().begin(), tensor.sizes().end()},
          {tensor.strides().begin(), tensor.strides().end()}, offset};
}

}  // namespace

RunTrace::RunTrace(const Method& method, KeptResults kept)
    : method_(&method), kept_(std::move(kept)) {
  marks_.reserve(method.instruction_count());
  TickScale::rate();  // measured before the run, not in it
}

int64_t RunTrace::on_instruction(size_t instruction, int64_t begin, int64_t end,
                                 Span<Value* const> arguments) {
  if (marks_.empty()) begin_ = begin;
  marks_.push_back({end, static_cast<uint32_t>(instruction), static_cast<uint32_t>(nodes_.size())});
  if (!kept_.has(instruction) || arguments.empty()) return end;
  store_results(instruction, arguments);
  stored_.push_back({marks_.size() - 1, ticks(), results_.size()});
  return stored_.back().end;
}

void RunTrace::store_results(size_t instruction, Span<Value* const> arguments) {
  if (method_->is_delegate_call(instruction)) {
    for (const Value* argument : arguments) store(*argument);
  } else if (const TensorList* list = several_results(arguments)) {
    for (Tensor* tensor : *list) store(Value(tensor));
  } else {
    store(*arguments[arguments.size() - 1]);
  }
}

std::vector<RunTrace::Event> RunTrace::events() const {
  std::vector<Event> events;
  events.reserve(marks_.size());
  int64_t begin = begin_;
  size_t results_end = 0;
  auto stored = stored_.begin();
  for (const Mark& mark : marks_) {
    const bool has_stored = stored != stored_.end() && stored->mark == events.size();
    if (has_stored) results_end = stored->results_end;
    events.push_back({mark.instruction, scale_.nanoseconds(begin), scale_.nanoseconds(mark.end),
                      mark.nodes_end, results_end});
    begin = has_stored ? (stored++)->end : mark.end;
  }
  return events;
}

std::vector<RunTrace::Node> RunTrace::nodes() const {
  std::vector<Node> nodes = nodes_;
  for (Node& node : nodes) {
    node.begin = scale_.nanoseconds(node.begin);
    node.end = scale_.nanoseconds(node.end);
  }
  return nodes;
}

void RunTrace::on_result(const NodeResult& result) {
  node_values_.push_back({result.value, store_tensor(result.tensor, node_bytes_),
                          {result.scales.begin(), result.scales.end()},
                          {result.zero_points.begin(), result.zero_points.end()}});
}

void RunTrace::on_node(const DelegateNode& node, int64_t begin, int64_t end) {
  auto found = std::find(names_.begin(), names_.end(), node.name);
  if (found == names_.end()) found = names_.insert(found, std::string(node.name));
  nodes_.push_back({static_cast<uint32_t>(found - names_.begin()), node.index, node.debug_handle,
                    begin, end, node_values_.size()});
}

void RunTrace::on_end(int64_t begin, int64_t end, Span<const Value* const> outputs) {
  scale_ = TickScale::now();
  begin_ = begin;
  end_ = end;
  first_output_ = results_.size();
  if (!kept_.any()) return;
  for (const Value* output : outputs) store(*output);
}

void RunTrace::store(const Value& value) {
  if (const auto* number = value.get_if<int64_t>()) {
    results_.emplace_back(*number);
  } else if (const auto* real = value.get_if<double>()) {
    results_.emplace_back(*real);
  } else if (const auto* flag = value.get_if<bool>()) {
    results_.emplace_back(*flag);
  } else if (const auto* tensor = value.get_if<Tensor*>()) {
    if (*tensor != nullptr && (*tensor)->has_memory()) results_.emplace_back(store_tensor(**tensor, bytes_));
  } else if (const auto* list = value.get_if<TensorList>()) {
    std::vector<StoredTensor> tensors;
    for (const Tensor* item : *list) {
      if (item != nullptr && item->has_memory()) tensors.push_back(store_tensor(*item, bytes_));
    }
    results_.emplace_back(std::move(tensors));
  }
}

}  // namespace etlab
