#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/core/method.h"

namespace etlab {

// How one run went: when every instruction and every node of a delegate ran, and what they gave if
// that is kept. Recording appends to vectors; nothing is named or converted before somebody asks.
class RunTrace : public InstructionObserver {
 public:
  struct StoredTensor {
    ScalarType type;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;  // in elements
    size_t offset;                 // of its elements in bytes()
  };
  using Stored =
      std::variant<int64_t, double, bool, StoredTensor, std::vector<StoredTensor>>;
  // Times in nanoseconds of a steady clock.
  struct Node {
    uint32_t name;  // in names()
    uint32_t debug_handle;
    int64_t begin;
    int64_t end;
  };
  struct Event {
    size_t instruction;
    int64_t begin;
    int64_t end;
    size_t nodes_end;    // its nodes and results begin where those of the event before end
    size_t results_end;
  };

  // The method is asked only while it runs.
  RunTrace(const Method& method, bool keeps_results)
      : method_(&method), keeps_results_(keeps_results) {}

  void on_instruction(size_t instruction, int64_t begin, int64_t end,
                      Span<Value* const> arguments) override;
  void on_node(std::string_view name, uint32_t debug_handle, int64_t begin, int64_t end) override;
  void on_end(int64_t begin, int64_t end, Span<const Value* const> outputs) override;

  bool keeps_results() const { return keeps_results_; }
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::string& name_of(const Node& node) const { return names_[node.name]; }
  // What instructions gave: of a kernel what it returned, several results one by one; of a delegate
  // its inputs, then its outputs.
  const std::vector<Stored>& results() const { return results_; }
  // Those from `first_output` on are outputs of the method.
  size_t first_output() const { return first_output_; }
  Span<const uint8_t> bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  void store(const Value& value);
  StoredTensor store(const Tensor& tensor);

  const Method* method_;
  bool keeps_results_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  std::vector<Event> events_;
  std::vector<Node> nodes_;
  std::vector<std::string> names_;  // each kind of node once
  std::vector<Stored> results_;
  size_t first_output_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace etlab
