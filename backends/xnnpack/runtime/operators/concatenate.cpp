#include "backends/xnnpack/runtime/operators/box_copy.h"
#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/error.h"

namespace etlab {
namespace {

class Concatenate : public Operator {
 public:
  Concatenate(std::vector<size_t> inputs, size_t out, size_t element_size, int64_t axis)
      : inputs_(std::move(inputs)), out_(out), element_size_(element_size), axis_(axis) {}

  void reshape(Span<Operand> values) override {
    const Shape& first = values[inputs_[0]].shape;
    const auto rank = static_cast<int64_t>(first.rank());
    const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
    ETLAB_CHECK(axis >= 0 && axis < rank, kInvalidArgument, "axis ", axis_, " of shape ",
                describe(first));
    const auto dim = static_cast<size_t>(axis);
    int64_t total = 0;
    for (const size_t input : inputs_) {
      const Shape& shape = values[input].shape;
      ETLAB_CHECK(shape.rank() == first.rank() && shape.with(dim, first[dim]) == first,
                  kInvalidArgument, "shapes ", describe(first), " and ", describe(shape),
                  " cannot stand behind each other along dimension ", axis);
      total += shape[dim];
    }
    const Shape out = first.with(dim, total);
    const auto target = strides_of(out);
    copies_.clear();
    starts_.clear();
    int64_t start = 0;
    for (const size_t input : inputs_) {
      const Shape& shape = values[input].shape;
      const auto source = strides_of(shape);
      copies_.emplace_back(element_size_, shape.sizes(),
                           Span<const int64_t>(source.data(), shape.rank()),
                           Span<const int64_t>(target.data(), shape.rank()));
      starts_.push_back(start * target[dim]);
      start += shape[dim];
    }
    values[out_].shape = out;
  }

  void run(const RunContext& run) override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      copies_[i].run(run.context, run.values[inputs_[i]].data,
                     run.values[out_].data + starts_[i] * static_cast<int64_t>(element_size_));
    }
  }

 private:
  std::vector<size_t> inputs_;
  size_t out_;
  size_t element_size_;
  int64_t axis_;
  std::vector<BoxCopy> copies_;
  std::vector<int64_t> starts_;
};

size_t count_of(payload::NodeUnion kind) {
  switch (kind) {
    case payload::NodeUnion::Concatenate2: return 2;
    case payload::NodeUnion::Concatenate3: return 3;
    case payload::NodeUnion::Concatenate4: return 4;
    default: return 5;
  }
}

std::unique_ptr<Operator> make_concatenate(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::Concatenate*>(builder.node().xnode_union());
  const uint32_t ids[] = {node.input1_id(), node.input2_id(), node.input3_id(), node.input4_id(),
                          node.input5_id()};
  std::vector<size_t> inputs;
  for (size_t i = 0; i < count_of(builder.node().xnode_union_type()); ++i) {
    inputs.push_back(builder.raw_input(ids[i]));
  }
  const size_t out = builder.raw_output(node.output_id());
  for (const size_t input : inputs) check_same_type(builder, input, out);
  return std::make_unique<Concatenate>(std::move(inputs), out,
                                       element_bytes(builder.value(out).type),
                                       static_cast<int32_t>(node.axis()));
}

}  // namespace
ETLAB_XNNPACK_NODE(Concatenate2, make_concatenate);
ETLAB_XNNPACK_NODE(Concatenate3, make_concatenate);
ETLAB_XNNPACK_NODE(Concatenate4, make_concatenate);
ETLAB_XNNPACK_NODE(Concatenate5, make_concatenate);
}  // namespace etlab
