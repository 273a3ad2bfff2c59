#include "backends/xnnpack/runtime/subgraph.h"

#include <algorithm>

#include "backends/xnnpack/runtime/arena_plan.h"
#include "backends/xnnpack/runtime/fold_borders.h"
#include "backends/xnnpack/runtime/join_limits.h"
#include "backends/xnnpack/runtime/node_results.h"
#include "runtime/core/checked.h"
#include "runtime/core/ticks.h"

namespace etlab {

namespace {

constexpr size_t kAlignment = 64;
// Kernels may read one vector beyond what they need.
constexpr size_t kSpareBytes = 64;

size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Subgraph::Subgraph(const DelegateDescription& description)
    : file_(open_payload(description.processed)),
      graph_(file_, description),
      workspace_(Workspace::of_this_method()) {
  for (const auto& [from, to] : graph_.quantized_inputs()) add_conversion(from, to);
  for (uint32_t i = 0; i < file_.graph->xnodes()->size(); ++i) add_step(i);
  check_order();
  fold_borders(graph_, steps_);
  join_limits(graph_, steps_);
  find_arguments();
}

void Subgraph::add_conversion(size_t from, size_t to) {
  steps_.push_back(
      {"Convert", DelegateNode::kAdded, 0, make_conversion(graph_, from, to), {from}, {to}});
}

void Subgraph::add_step(uint32_t index) {
  const payload::Node& node = *file_.graph->xnodes()->Get(index);
  const char* name = payload::EnumNameNodeUnion(node.xnode_union_type());
  try {
    const MakeOperator make = OperatorRegistry::find(node.xnode_union_type());
    ETLAB_CHECK(make != nullptr && node.xnode_union() != nullptr, kNotSupported,
                "nodes of this kind are not supported");
    OperatorBuilder builder(graph_, node);
    std::unique_ptr<Operator> made = make(builder);
    for (const auto& [from, to] : builder.conversions_before()) add_conversion(from, to);
    steps_.push_back(
        {name, index, node.debug_handle(), std::move(made), builder.inputs(), builder.outputs()});
    for (const auto& [from, to] : builder.conversions_after()) add_conversion(from, to);
  } catch (const Error& error) {
    fail(error.kind(), "node ", index, " (", name, "): ", error.what());
  }
}

// Every value is written once, before it is read.
void Subgraph::check_order() const {
  std::vector<bool> is_ready(graph_.values().size());
  for (size_t i = 0; i < is_ready.size(); ++i) {
    is_ready[i] = graph_.value(i).is_constant() || graph_.value(i).is_input;
  }
  for (const Step& step : steps_) {
    for (const size_t input : step.inputs) {
      ETLAB_CHECK(is_ready[input], kInvalidProgram, "node ", step.name, " reads value ",
                  graph_.value(input).id, " before it is computed; the payload is damaged");
    }
    for (const size_t output : step.outputs) {
      ETLAB_CHECK(!is_ready[output], kInvalidProgram, "node ", step.name, " writes value ",
                  graph_.value(output).id,
                  ", which is an input, a constant or written before; the payload is damaged");
      is_ready[output] = true;
    }
  }
  for (size_t i = 0; i < is_ready.size(); ++i) {
    ETLAB_CHECK(is_ready[i] || !graph_.value(i).is_output, kInvalidProgram, "output value ",
                graph_.value(i).id, " is computed by no node; the payload is damaged");
  }
}

void Subgraph::find_arguments() {
  for (size_t i = 0; i < graph_.values().size(); ++i) {
    ETLAB_CHECK(!graph_.value(i).is_input || !graph_.value(i).is_output, kInvalidProgram, "value ",
                graph_.value(i).id, " is an input and an output at once; the payload is damaged");
    if (graph_.value(i).is_input) inputs_.push_back(i);
    if (graph_.value(i).is_output) outputs_.push_back(i);
  }
  std::vector<uint32_t> ids;
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const size_t value : *list) ids.push_back(graph_.value(value).external_id);
  }
  std::sort(ids.begin(), ids.end());
  ETLAB_CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end(), kInvalidProgram,
              "two values are the same argument of the delegate; the payload is damaged");
  operands_.resize(graph_.values().size());
  for (size_t i = 0; i < operands_.size(); ++i) {
    operands_[i].shape = graph_.value(i).shape;
    operands_[i].data = const_cast<uint8_t*>(graph_.value(i).constant);
  }
}

void Subgraph::reshape(const std::vector<Shape>& input_shapes, int threads) {
  if (input_shapes == planned_for_ && threads == planned_threads_) return;
  planned_threads_ = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) operands_[inputs_[i]].shape = input_shapes[i];
  for (const Step& step : steps_) {
    try {
      step.run->reshape({operands_.data(), operands_.size()});
    } catch (const Error& error) {
      fail(error.kind(), "node ", step.name, ": ", error.what());
    }
  }
  plan(threads);
  planned_for_ = input_shapes;
  planned_threads_ = threads;
}

// Whether a value lies in the workspace, if it has memory of its own.
bool Subgraph::is_own(size_t value) const {
  const GraphValue& v = graph_.value(value);
  return !v.is_constant() && !v.is_input && !v.is_output;
}

// Gives every intermediate value a place in the workspace: views share that of what they look at,
// elementwise results take over that of an operand that nobody reads any more.
void Subgraph::plan(int threads) {
  const size_t count = operands_.size();
  std::vector<size_t> storage(count);
  for (size_t i = 0; i < count; ++i) storage[i] = i;
  std::vector<Lifetime> lifetimes(count);
  std::vector<bool> is_written(count);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.run->is_view() && is_own(step.outputs[0])) {
      storage[step.outputs[0]] = storage[step.inputs[0]];
    }
    for (const size_t input : step.inputs) lifetimes[storage[input]].last = i;
    for (const size_t output : step.outputs) {
      if (storage[output] != output) continue;
      lifetimes[output] = {0, i, i};
      is_written[output] = true;
    }
  }
  const auto bytes = [&](size_t value) {
    const auto numel = static_cast<size_t>(operands_[value].shape.numel());
    const GraphValue& v = graph_.value(value);
    return bytes_of(v.type, operands_[value].shape) +
           (v.quantization.row_dims > 0 ? round_up(numel) + numel * sizeof(RowQuantization) : 0);
  };
  std::vector<size_t> home(count);  // the storage whose memory a storage took over
  for (size_t i = 0; i < count; ++i) home[i] = i;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const size_t output = step.outputs[0];
    if (!is_own(output) || storage[output] != output) continue;
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const size_t base = home[storage[step.inputs[k]]];
      if (!is_own(base) || lifetimes[base].last != i || !step.run->may_overwrite(k) ||
          bytes(step.inputs[k]) != bytes(output)) {
        continue;
      }
      home[output] = base;
      lifetimes[base].last = lifetimes[output].last;
      break;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (is_own(i) && is_written[i] && home[i] == i) {
      lifetimes[i].bytes = round_up(bytes(i)) + kSpareBytes;
    }
  }
  const ArenaPlan arena = plan_arena(lifetimes, kAlignment);
  size_t scratch = 0;
  for (const Step& step : steps_) scratch = std::max(scratch, step.run->scratch_bytes(threads));
  arena_bytes_ = arena.size;
  scratch_bytes_ = scratch;
  workspace_->reserve(arena_bytes_, scratch_bytes_);
  storage_of_.resize(count);
  for (size_t i = 0; i < count; ++i) storage_of_[i] = home[storage[i]];
  offsets_ = arena.offsets;
  place();
}

// The workspace lies somewhere else when another delegate of the method needed a larger one.
void Subgraph::place() {
  placed_at_ = workspace_->arena();
  for (size_t i = 0; i < operands_.size(); ++i) {
    const size_t base = storage_of_[i];
    if (!is_own(base)) continue;
    operands_[i].data = workspace_->arena() + offsets_[base];
    if (graph_.value(i).quantization.row_dims > 0) {
      const auto numel = static_cast<size_t>(operands_[i].shape.numel());
      operands_[i].rows =
          reinterpret_cast<RowQuantization*>(operands_[i].data + round_up(numel));
    }
  }
}

void Subgraph::run(Context& context, Span<uint8_t* const> inputs, Span<uint8_t* const> outputs,
                   NodeObserver* observer) {
  // Another delegate may have made it larger, or have failed to and left it empty.
  workspace_->reserve(arena_bytes_, scratch_bytes_);
  if (workspace_->arena() != placed_at_) place();
  for (size_t i = 0; i < inputs_.size(); ++i) operands_[inputs_[i]].data = inputs[i];
  for (size_t i = 0; i < outputs_.size(); ++i) operands_[outputs_[i]].data = outputs[i];
  for (size_t i = 0; i < operands_.size(); ++i) {
    const size_t base = storage_of_[i];
    if (base != i && (graph_.value(base).is_input || graph_.value(base).is_output ||
                      graph_.value(base).is_constant())) {
      operands_[i].data = operands_[base].data;
    }
  }
  // An observer sees every node.
  const bool is_joined = observer == nullptr;
  const RunContext run{
      context, {operands_.data(), operands_.size()}, workspace_->scratch(), is_joined};
  for (const Step& step : steps_) {
    context.check_interrupted();
    if (is_joined && step.is_joined &&
        operands_[step.inputs[0]].data == operands_[step.outputs[0]].data) {
      continue;
    }
    const int64_t begin = observer == nullptr ? 0 : ticks();
    step.run->run(run);
    if (observer != nullptr) report(*observer, step, begin, ticks());
  }
}

void Subgraph::report(NodeObserver& observer, const Step& step, int64_t begin, int64_t end) const {
  if (observer.wants_results() && step.is_as_written) {
    for (const size_t output : step.outputs) {
      report_result(observer, graph_, output, operands_[output]);
    }
  }
  observer.on_node({step.name, step.index, step.debug_handle}, begin, end);
}

}  // namespace etlab
