#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/xnnpack/runtime/graph.h"
#include "backends/xnnpack/runtime/weight_cache.h"
#include "runtime/core/context.h"
#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace etlab {

// A value while the delegate runs.
struct Operand {
  Shape shape;
  uint8_t* data = nullptr;
  RowQuantization* rows = nullptr;  // of values quantized at run time

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// What an operator runs with: values by index, and as much scratch as it asked for.
struct RunContext {
  Context& context;
  Span<const Operand> values;
  uint8_t* scratch;  // 64-byte aligned
  bool is_joined;    // operators do what they took over from others
};

// Elements of one value around another value.
struct Border {
  std::vector<int64_t> before;  // by dimension
  std::vector<int64_t> after;
  uint32_t pattern = 0;  // of one element, as it stands in memory
};

// Limits of an int8 result, as integers.
struct IntegerLimits {
  int32_t lower;
  int32_t upper;
};

// One node, ready to run. It reads and writes values by index.
class Operator {
 public:
  virtual ~Operator() = default;
  // Gives the outputs their shapes, and prepares what depends on sizes. Called before the first run
  // and whenever a size of an input of the delegate changes. Throws kInvalidArgument for sizes that
  // do not fit, kInvalidProgram where the payload itself contradicts them.
  virtual void reshape(Span<Operand> values) = 0;
  virtual void run(const RunContext& run) = 0;
  // Scratch for the current sizes with so many threads.
  virtual size_t scratch_bytes(int /*threads*/) const { return 0; }
  // Whether output 0 may be written over input `input`, where they have the same bytes.
  virtual bool may_overwrite(size_t /*input*/) const { return false; }
  // Whether output 0 is input 0 with other sizes.
  virtual bool is_view() const { return false; }
  // What it puts around input 0, where it does nothing else.
  virtual const Border* border() const { return nullptr; }
  // Reads `input` as input 0, without the border that it had until now, and puts the border around
  // it itself; false, with nothing changed, where it cannot.
  virtual bool take_border(const Border& /*border*/, size_t /*input*/) { return false; }
  // What it limits the integers of input 0 to, where it does nothing else.
  virtual const IntegerLimits* limits() const { return nullptr; }
  // Limits its results to these as well, where runs are joined; false where it cannot.
  virtual bool take_limits(const IntegerLimits& /*limits*/) { return false; }
};

// What a node's operator is made of. Inputs and outputs are recorded as they are asked for.
class OperatorBuilder {
 public:
  OperatorBuilder(PayloadGraph& graph, const payload::Node& node);

  const payload::Node& node() const { return node_; }
  const GraphValue& value(size_t index) const { return graph_.value(index); }
  PayloadGraph& graph() { return graph_; }
  // Half-precision values are read and written in float form, with conversions around the node.
  size_t input(uint32_t id);
  // No index when there is none, as for a bias.
  std::optional<size_t> optional_input(uint32_t id);
  size_t output(uint32_t id);
  // The value as it is, for nodes that only move elements.
  size_t raw_input(uint32_t id);
  size_t raw_output(uint32_t id);
  // The range that results are limited to, infinite when there is none. Throws where it is empty.
  float lower() const { return lower_; }
  float upper() const { return upper_; }
  bool is_limited() const;

  const std::vector<size_t>& inputs() const { return inputs_; }
  const std::vector<size_t>& outputs() const { return outputs_; }
  // (from, to) that must be converted before the node, and after it.
  using Conversions = std::vector<std::pair<size_t, size_t>>;
  const Conversions& conversions_before() const { return before_; }
  const Conversions& conversions_after() const { return after_; }

 private:
  size_t float_constant(size_t half);

  PayloadGraph& graph_;
  const payload::Node& node_;
  float lower_;
  float upper_;
  std::vector<size_t> inputs_;
  std::vector<size_t> outputs_;
  Conversions before_;
  Conversions after_;
};

using MakeOperator = std::unique_ptr<Operator> (*)(OperatorBuilder& builder);

// Which function makes the operator of a kind of node.
class OperatorRegistry {
 public:
  static void add(payload::NodeUnion kind, MakeOperator make) noexcept;
  static MakeOperator find(payload::NodeUnion kind);  // nullptr when there is none
};

struct OperatorRegistration {
  OperatorRegistration(payload::NodeUnion kind, MakeOperator make) noexcept {
    OperatorRegistry::add(kind, make);
  }
};

// Converts value `from` into value `to`, types and sizes as the graph has them.
std::unique_ptr<Operator> make_conversion(const PayloadGraph& graph, size_t from, size_t to);
// From QINT8 to float and from there to QINT8, with the float values only in passing.
std::unique_ptr<Operator> make_conversion_through_float(const PayloadGraph& graph, size_t from,
                                                        size_t to);

// "float32", for messages.
const char* name_of(payload::Datatype type);

}  // namespace etlab

// ETLAB_XNNPACK_NODE(Softmax, make_softmax); stands last in a node's file.
#define ETLAB_XNNPACK_NODE(kind, make)                                 \
  static const ::etlab::OperatorRegistration etlab_xnnpack_node_##kind( \
      ::etlab::payload::NodeUnion::kind, &make)
