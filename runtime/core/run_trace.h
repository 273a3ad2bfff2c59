#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "runtime/core/method.h"
#include "runtime/core/ticks.h"

namespace etlab {

// Which instructions' results are kept, of a delegate call those of its nodes too.
class KeptResults {
 public:
  KeptResults(bool all) : all_(all) {}
  KeptResults(std::set<size_t> instructions) : instructions_(std::move(instructions)) {}
  bool any() const { return all_ || !instructions_.empty(); }
  bool has(size_t instruction) const { return all_ || instructions_.count(instruction) > 0; }

 private:
  bool all_ = false;
  std::set<size_t> instructions_;
};

// How one run went: when every instruction and every node of a delegate ran, and what they gave if
// that is kept. Recording appends to vectors; nothing is named or converted before somebody asks.
class RunTrace final : public InstructionObserver {
 public:
  struct StoredTensor {
    ScalarType type;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;  // in elements
    size_t offset;                 // of its elements in bytes()
  };
  using Stored =
      std::variant<int64_t, double, bool, StoredTensor, std::vector<StoredTensor>>;
  // A result of a delegate's node, see NodeResult.
  struct NodeValue {
    uint32_t value;
    StoredTensor tensor;  // its elements stand in node_bytes()
    std::vector<float> scales;
    std::vector<int32_t> zero_points;
  };
  // Times in nanoseconds of a steady clock.
  struct Node {
    uint32_t name;  // in names()
    uint32_t index;
    uint32_t debug_handle;
    int64_t begin;
    int64_t end;
    size_t values_end;  // its values begin where those of the node before end
  };
  struct Event {
    size_t instruction;
    int64_t begin;
    int64_t end;
    size_t nodes_end;    // its nodes and results begin where those of the event before end
    size_t results_end;
  };

  // The method is asked only while it runs.
  RunTrace(const Method& method, KeptResults kept);

  void before_delegate_call(size_t instruction) override { is_kept_ = kept_.has(instruction); }
  int64_t on_instruction(size_t instruction, int64_t begin, int64_t end,
                         Span<Value* const> arguments) override;
  bool wants_results() const override { return is_kept_; }
  void on_result(const NodeResult& result) override;
  void on_node(const DelegateNode& node, int64_t begin, int64_t end) override;
  void on_end(int64_t begin, int64_t end, Span<const Value* const> outputs) override;

  // Which test case of a bundled program ran; -1 for none.
  int bundled_input_index() const { return bundled_input_index_; }
  void set_bundled_input_index(int index) { bundled_input_index_ = index; }
  int64_t begin() const { return scale_.nanoseconds(begin_); }
  int64_t end() const { return scale_.nanoseconds(end_); }
  // Made anew by each call.
  std::vector<Event> events() const;
  std::vector<Node> nodes() const;
  const std::string& name_of(const Node& node) const { return names_[node.name]; }
  // What instructions gave: of a kernel what it returned, several results one by one; of a delegate
  // its inputs, then its outputs.
  const std::vector<Stored>& results() const { return results_; }
  // Those from `first_output` on are outputs of the method.
  size_t first_output() const { return first_output_; }
  Span<const uint8_t> bytes() const { return {bytes_.data(), bytes_.size()}; }
  const std::vector<NodeValue>& node_values() const { return node_values_; }
  Span<const uint8_t> node_bytes() const { return {node_bytes_.data(), node_bytes_.size()}; }

 private:
  // An instruction. Small, since a run of short ones is measured by what writing them costs.
  struct Mark {
    int64_t end;  // the next one begins here, unless results were stored
    uint32_t instruction;
    uint32_t nodes_end;
  };
  // An instruction whose results were stored.
  struct Storing {
    size_t mark;
    int64_t end;  // the next instruction's begin
    size_t results_end;
  };
  void store_results(size_t instruction, Span<Value* const> arguments);
  void store(const Value& value);

  const Method* method_;
  KeptResults kept_;
  bool is_kept_ = false;  // of the delegate call that runs
  int bundled_input_index_ = -1;
  int64_t begin_ = 0;  // ticks, as in the next two
  int64_t end_ = 0;
  std::vector<Mark> marks_;
  std::vector<Node> nodes_;
  TickScale scale_;
  std::vector<Storing> stored_;
  std::vector<std::string> names_;  // each kind of node once
  std::vector<Stored> results_;
  size_t first_output_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<NodeValue> node_values_;
  std::vector<uint8_t> node_bytes_;
};

}  // namespace etlab
