#include "runtime/kernels/util/recurrent.h"

#include "runtime/core/checked.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {
namespace {

int64_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::kLstm ? 4 : kind == RecurrentKind::kGru ? 3 : 1;
}

void check_outputs(const char* who, const RecurrentTensors& tensors) {
  Tensor* const outputs[] = {&tensors.out, &tensors.last_hidden, tensors.last_cell};
  for (size_t i = 0; i < std::size(outputs); ++i) {
    if (outputs[i] == nullptr) continue;
    check_type(who, "every output", *outputs[i], tensors.input.type());
    check_rank(who, "every output", *outputs[i], 3);
    check_distinct(who, tensors.input, *outputs[i]);
    check_distinct(who, tensors.hidden, *outputs[i]);
    if (tensors.cell != nullptr) check_distinct(who, *tensors.cell, *outputs[i]);
    for (const Tensor* weight : tensors.weights) check_distinct(who, *weight, *outputs[i]);
    for (size_t j = 0; j < i; ++j) check_distinct(who, *outputs[j], *outputs[i]);
  }
}

void check_weights(const char* who, const RecurrentTensors& tensors, const RecurrentGeometry& g) {
  const size_t count = g.weights_of_cell();
  const size_t cells = static_cast<size_t>(g.layers * g.directions);
  ETLAB_CHECK(tensors.weights.size() == cells * count, kInvalidArgument, who, ": ", cells,
              " layers and directions with ", count, " weights each take ", cells * count,
              " tensors, got ", tensors.weights.size());
  for (size_t i = 0; i < cells; ++i) {
    const bool is_first = i < static_cast<size_t>(g.directions);
    const int64_t features = is_first ? g.features : g.output_width();
    const Span<Tensor* const> weights = tensors.weights.subspan(i * count, count);
    const auto check = [&](size_t place, const char* what, Span<const int64_t> sizes) {
      check_type(who, what, *weights[place], tensors.input.type());
      check_sizes(who, what, *weights[place], sizes);
    };
    const int64_t of_input[] = {g.gate_width(), features};
    const int64_t of_state[] = {g.gate_width(), g.width};
    const int64_t of_bias[] = {g.gate_width()};
    const int64_t of_projection[] = {g.width, g.hidden};
    check(0, "the input's weight", of_input);
    check(1, "the state's weight", of_state);
    if (g.has_biases) {
      check(2, "the input's bias", of_bias);
      check(3, "the state's bias", of_bias);
    }
    if (g.has_projection) check(count - 1, "the projection", of_projection);
  }
}

// The largest of the scratch tensors, in bytes of the widest number.
void check_scratch(const char* who, const RecurrentGeometry& g) {
  const auto product = [&](int64_t columns) {
    const size_t rows = checked_multiply(static_cast<size_t>(g.steps),
                                         static_cast<size_t>(g.batches), who);
    return checked_multiply(checked_multiply(rows, static_cast<size_t>(columns), who),
                            2 * sizeof(double), who);
  };
  product(g.gate_width());
  product(g.output_width());
  product(g.hidden);
}

}  // namespace

const char* name_of(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kLstm: return "aten::lstm.input_out";
    case RecurrentKind::kGru: return "aten::gru.input_out";
    case RecurrentKind::kRnnTanh: return "aten::rnn_tanh.input_out";
    case RecurrentKind::kRnnRelu: return "aten::rnn_relu.input_out";
  }
  return "";
}

RecurrentGeometry recurrent_geometry(const char* who, RecurrentKind kind,
                                     const RecurrentTensors& tensors,
                                     const RecurrentOptions& options) {
  const Tensor& input = tensors.input;
  dispatch<FloatTypes>(input.type(), who, [](auto) {});
  check_rank(who, "the input", input, 3);
  check_rank(who, "the hidden state", tensors.hidden, 3);
  ETLAB_CHECK(!options.train || options.dropout == 0.0 || options.layers == 1, kNotSupported, who,
              ": dropout ", options.dropout, " in training is not served by this operator; export "
              "the model in eval mode, or without extended operators");
  const int64_t directions = options.bidirectional ? 2 : 1;
  // One weight a layer is fewer than any: this bounds the number before it is multiplied.
  ETLAB_CHECK(options.layers >= 1 &&
                  static_cast<uint64_t>(options.layers) <= tensors.weights.size(),
              kInvalidArgument, who, ": ", options.layers, " layers cannot have ",
              tensors.weights.size(), " weights");
  RecurrentGeometry g{};
  g.kind = kind;
  g.has_biases = options.has_biases;
  g.layers = options.layers;
  g.directions = directions;
  g.steps = input.size(options.batch_first ? 1 : 0);
  g.batches = input.size(options.batch_first ? 0 : 1);
  g.features = input.size(2);
  g.width = tensors.hidden.size(2);
  g.hidden = g.width;
  g.gates = gates_of(kind);
  g.step_rows = options.batch_first ? 1 : g.batches;
  g.batch_rows = options.batch_first ? g.steps : 1;
  ETLAB_CHECK(g.steps > 0, kInvalidArgument, who, ": a sequence has at least one step, got ",
              describe(input));
  if (tensors.cell != nullptr) {
    check_rank(who, "the cell state", *tensors.cell, 3);
    g.hidden = tensors.cell->size(2);
    const int64_t sizes[] = {g.layers * directions, g.batches, g.hidden};
    check_sizes(who, "the cell state", *tensors.cell, sizes);
    check_type(who, "the cell state", *tensors.cell, input.type());
  }
  g.has_projection = g.width != g.hidden;
  ETLAB_CHECK(g.width > 0 || g.hidden == 0, kInvalidArgument, who,
              ": a projected state has at least one value, got ", describe(tensors.hidden));
  const int64_t sizes[] = {g.layers * directions, g.batches, g.width};
  check_sizes(who, "the hidden state", tensors.hidden, sizes);
  check_type(who, "the hidden state", tensors.hidden, input.type());
  checked_multiply(static_cast<size_t>(g.hidden), size_t{64}, who);
  checked_multiply(static_cast<size_t>(g.width), size_t{64}, who);
  check_weights(who, tensors, g);
  check_scratch(who, g);
  check_outputs(who, tensors);
  return g;
}

}  // namespace etlab::util
