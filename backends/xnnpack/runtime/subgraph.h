#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/xnnpack/runtime/graph.h"
#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/workspace.h"

namespace etlab {

// A payload made ready: operators in order, weights packed, memory planned for the sizes of the
// last run.
class Subgraph {
 public:
  struct Step {
    std::string name;  // the kind of node
    uint32_t index;    // of the node, DelegateNode::kAdded for steps of the runtime's own
    uint32_t debug_handle;
    std::unique_ptr<Operator> run;
    std::vector<size_t> inputs;
    std::vector<size_t> outputs;
    bool is_as_written = true;  // false: outputs hold something else than the payload says
    bool is_joined = false;  // the step that writes its input does it, where runs are joined
  };
  // The description's bytes must outlive the subgraph. Throws what is wrong with the payload.
  explicit Subgraph(const DelegateDescription& description);

  const PayloadGraph& graph() const { return graph_; }
  // Values that are arguments of the delegate, by argument.
  const std::vector<size_t>& inputs() const { return inputs_; }
  const std::vector<size_t>& outputs() const { return outputs_; }
  const Shape& shape(size_t value) const { return operands_[value].shape; }

  // Sets the sizes of the inputs, in the order of inputs(); finds all others and plans memory when
  // one has changed.
  void reshape(const std::vector<Shape>& input_shapes, int threads);
  // Runs with these arguments' memory, in the order of inputs() and outputs(); tells the observer, if
  // there is one, of every node.
  void run(Context& context, Span<uint8_t* const> inputs, Span<uint8_t* const> outputs,
           NodeObserver* observer);

 private:
  void add_step(uint32_t index);
  void add_conversion(size_t from, size_t to);
  void check_order() const;
  void find_arguments();
  bool is_own(size_t value) const;
  void plan(int threads);
  void place();
  void report(NodeObserver& observer, const Step& step, int64_t begin, int64_t end) const;

  PayloadFile file_;
  PayloadGraph graph_;
  std::vector<Step> steps_;
  std::vector<size_t> inputs_;
  std::vector<size_t> outputs_;
  std::vector<Operand> operands_;
  std::vector<size_t> storage_of_;  // the value whose memory a value has
  std::vector<Shape> planned_for_;
  int planned_threads_ = 0;
  std::shared_ptr<Workspace> workspace_;
  size_t arena_bytes_ = 0;              // of it that this delegate needs
  size_t scratch_bytes_ = 0;
  std::vector<size_t> offsets_;         // in its arena, by value
  const uint8_t* placed_at_ = nullptr;  // where it lay when the operands were given their places
};

}  // namespace etlab
