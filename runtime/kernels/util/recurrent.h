#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/walk.h"

namespace etlab::util {

enum class RecurrentKind { kLstm, kGru, kRnnTanh, kRnnRelu };

// The arguments of aten::lstm.input_out and its like; `cell` states are an LSTM's only.
struct RecurrentTensors {
  const Tensor& input;
  const Tensor& hidden;
  const Tensor* cell;
  Span<Tensor* const> weights;
  Tensor& out;
  Tensor& last_hidden;
  Tensor* last_cell;
};
struct RecurrentOptions {
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;
};

struct RecurrentGeometry {
  RecurrentKind kind;
  bool has_biases;
  bool has_projection;
  int64_t layers, directions;
  int64_t steps, batches;
  int64_t features;  // of the input
  int64_t hidden;    // of the gates and the cell state
  int64_t width;     // of the hidden state, other than `hidden` with a projection
  int64_t gates;     // blocks of `hidden` in a row of gates: 4, 3 or 1
  int64_t step_rows, batch_rows;  // from one step, one sequence to the next, in rows (features)

  int64_t rows() const { return steps * batches; }
  int64_t gate_width() const { return gates * hidden; }
  int64_t output_width() const { return directions * width; }
  size_t weights_of_cell() const {
    return 2u + (has_biases ? 2u : 0u) + (has_projection ? 1u : 0u);
  }
};

// Checks every argument, the sizes of all weights and of scratch memory included, before anything
// is read or written.
RecurrentGeometry recurrent_geometry(const char* who, RecurrentKind kind,
                                     const RecurrentTensors& tensors,
                                     const RecurrentOptions& options);

// The weights of one layer in one direction.
template <typename Number>
struct RecurrentCell {
  const Number* input_weight;  // (gate_width, features of the layer)
  const Number* state_weight;  // (gate_width, width)
  const Number* input_bias;    // (gate_width) or nullptr
  const Number* state_bias;    // (gate_width) or nullptr
  const Number* projection;    // (width, hidden) or nullptr
};

template <typename Number>
RecurrentCell<Number> read_cell(Context& context, const RecurrentGeometry& g,
                                Span<Tensor* const> weights) {
  const auto read = [&](size_t i) { return read_contiguous<Number>(context, *weights[i]); };
  return {read(0), read(1), g.has_biases ? read(2) : nullptr, g.has_biases ? read(3) : nullptr,
          g.has_projection ? read(weights.size() - 1) : nullptr};
}

// The states of a batch after one step. `total` (gate_width) is scratch.
//   Arithmetic: sigmoid(Number* values, count) and tanh(values, count), in place
template <typename Number, typename Arithmetic>
void recurrent_step(const RecurrentGeometry& g, const Arithmetic& arithmetic,
                    const Number* from_input,  // (gate_width)
                    const Number* from_state,  // (gate_width)
                    Number* total, Number* hidden, Number* cell) {
  const int64_t n = g.hidden;
  const int64_t summed = g.kind == RecurrentKind::kGru ? 2 * n : g.gate_width();
  for (int64_t i = 0; i < summed; ++i) total[i] = from_input[i] + from_state[i];
  switch (g.kind) {
    case RecurrentKind::kLstm: {  // enter, forget, candidate, leave
      arithmetic.sigmoid(total, 2 * n);
      arithmetic.tanh(total + 2 * n, n);
      arithmetic.sigmoid(total + 3 * n, n);
      for (int64_t i = 0; i < n; ++i) {
        cell[i] = total[n + i] * cell[i] + total[i] * total[2 * n + i];
        total[i] = cell[i];
      }
      arithmetic.tanh(total, n);
      for (int64_t i = 0; i < n; ++i) hidden[i] = total[3 * n + i] * total[i];
      return;
    }
    case RecurrentKind::kGru: {  // reset, update, new
      arithmetic.sigmoid(total, 2 * n);
      Number* candidate = total + 2 * n;
      for (int64_t i = 0; i < n; ++i) {
        candidate[i] = from_input[2 * n + i] + total[i] * from_state[2 * n + i];
      }
      arithmetic.tanh(candidate, n);
      for (int64_t i = 0; i < n; ++i) {
        hidden[i] = candidate[i] + total[n + i] * (hidden[i] - candidate[i]);
      }
      return;
    }
    case RecurrentKind::kRnnTanh:
      arithmetic.tanh(total, n);
      std::copy_n(total, n, hidden);
      return;
    case RecurrentKind::kRnnRelu:
      for (int64_t i = 0; i < n; ++i) hidden[i] = total[i] < 0 ? Number{0} : total[i];  // NaN stays
      return;
  }
}

// How many steps go into one product with the inputs: as many as keep its result in the cache.
inline int64_t steps_of_chunk(const RecurrentGeometry& g) {
  constexpr int64_t kGates = int64_t{1} << 18;
  const int64_t of_step = std::max<int64_t>(g.batches * g.gate_width(), 1);
  return std::clamp<int64_t>(kGates / of_step, 1, g.steps);
}

// Scratch of all layers; a chunk is of steps_of_chunk() steps.
template <typename Number>
struct RecurrentScratch {
  Number* chunk;        // (steps, batches, widest features), where sequences come first
  Number* from_input;   // (steps, batches, gate_width)
  Number* from_state;   // (batches, gate_width)
  Number* totals;       // (batches, gate_width)
  Number* unprojected;  // (batches, hidden), where there is a projection
};

// The values of steps [first, first + steps), one step after another.
template <typename Number>
const Number* chunk_of(const RecurrentGeometry& g, const Number* values, int64_t features,
                       int64_t first, int64_t steps, Number* gathered) {
  if (g.batch_rows == 1 || g.batches <= 1) return values + first * g.step_rows * features;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t i = 0; i < g.batches; ++i) {
      const int64_t row = (first + step) * g.step_rows + i * g.batch_rows;
      std::copy_n(values + row * features, features, gathered + (step * g.batches + i) * features);
    }
  }
  return gathered;
}

// One layer in one direction: reads `values` (rows, features) and the states, which become the last
// ones, and writes columns of `output` (rows, output_width).
//   Arithmetic: besides, product(weight, columns, depth, rows, calls), which gives a function of
//   (rows, a, bias, out) for about `calls` products of up to `rows` rows: out = a @ weight^T + bias
template <typename Number, typename Arithmetic>
void recurrent_direction(Context& context, const RecurrentGeometry& g, const Arithmetic& arithmetic,
                         const RecurrentCell<Number>& weights, bool is_backward,
                         const Number* values, int64_t features, Number* hidden, Number* cell,
                         const RecurrentScratch<Number>& scratch, Number* output) {
  if (g.rows() == 0 || g.width == 0) return;  // however many empty steps there are
  constexpr int64_t kGrain = 4096;  // gates a thread should have at least
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(g.gate_width(), 1));
  const int64_t longest = steps_of_chunk(g);
  const auto input_product =
      arithmetic.product(weights.input_weight, g.gate_width(), features, longest * g.batches,
                         (g.steps + longest - 1) / longest);
  const auto state_product =
      arithmetic.product(weights.state_weight, g.gate_width(), g.width, g.batches, g.steps);
  const auto projection =
      arithmetic.product(weights.projection, g.has_projection ? g.width : 0, g.hidden, g.batches,
                         g.steps);
  Number* computed = g.has_projection ? scratch.unprojected : hidden;
  for (int64_t done = 0; done < g.steps; done += longest) {
    const int64_t steps = std::min(longest, g.steps - done);
    const int64_t first = is_backward ? g.steps - done - steps : done;
    input_product(steps * g.batches, chunk_of(g, values, features, first, steps, scratch.chunk),
                  weights.input_bias, scratch.from_input);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t step = is_backward ? steps - 1 - i : i;
      const Number* from_input = scratch.from_input + step * g.batches * g.gate_width();
      state_product(g.batches, hidden, weights.state_bias, scratch.from_state);
      context.parallel_for(g.batches, grain, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t gates = j * g.gate_width();
          recurrent_step(g, arithmetic, from_input + gates, scratch.from_state + gates,
                         scratch.totals + gates, computed + j * g.hidden,
                         cell == nullptr ? nullptr : cell + j * g.hidden);
        }
      });
      if (g.has_projection) projection(g.batches, computed, nullptr, hidden);
      for (int64_t j = 0; j < g.batches; ++j) {
        const int64_t row = (first + step) * g.step_rows + j * g.batch_rows;
        std::copy_n(hidden + j * g.width, g.width, output + row * g.output_width());
      }
    }
  }
}

// All layers and directions. What is computed lies in scratch until the end, so that inputs and
// outputs may share memory.
template <typename Number, typename Arithmetic>
void run_recurrent(Context& context, const char* who, const RecurrentGeometry& g,
                   const Arithmetic& arithmetic, const RecurrentTensors& tensors) {
  const auto copy = [&](const Tensor& tensor) {
    Number* values = context.allocate<Number>(tensor.numel());
    std::copy_n(read_contiguous<Number>(context, tensor), tensor.numel(), values);
    return values;
  };
  Number* hidden = copy(tensors.hidden);  // (layers * directions, batches, width)
  Number* cell = tensors.cell == nullptr ? nullptr : copy(*tensors.cell);
  const int64_t gates = g.batches * g.gate_width();
  const int64_t chunk = steps_of_chunk(g);
  const bool is_gathered = g.batch_rows != 1 && g.batches > 1;
  const int64_t widest = g.layers > 1 ? std::max(g.features, g.output_width()) : g.features;
  const RecurrentScratch<Number> scratch{
      is_gathered ? context.allocate<Number>(chunk * g.batches * widest) : nullptr,
      context.allocate<Number>(chunk * gates), context.allocate<Number>(gates),
      context.allocate<Number>(gates),
      g.has_projection ? context.allocate<Number>(g.batches * g.hidden) : nullptr};
  Number* outputs[2] = {};
  for (int64_t i = 0; i < std::min<int64_t>(g.layers, 2); ++i) {
    outputs[i] = context.allocate<Number>(g.rows() * g.output_width());
  }
  const Number* values = read_contiguous<Number>(context, tensors.input);
  int64_t features = g.features;
  for (int64_t layer = 0; layer < g.layers; ++layer) {
    Number* output = outputs[layer % 2];  // (rows, output_width)
    for (int64_t direction = 0; direction < g.directions; ++direction) {
      const int64_t place = layer * g.directions + direction;
      const size_t count = g.weights_of_cell();
      const RecurrentCell<Number> weights = read_cell<Number>(
          context, g, tensors.weights.subspan(static_cast<size_t>(place) * count, count));
      recurrent_direction(
          context, g, arithmetic, weights, direction == 1, values, features,
          hidden + place * g.batches * g.width,
          cell == nullptr ? nullptr : cell + place * g.batches * g.hidden, scratch,
          output + direction * g.width);
    }
    values = output;
    features = g.output_width();
  }
  const int64_t sizes[] = {tensors.input.size(0), tensors.input.size(1), g.output_width()};
  tensors.out.resize(sizes);
  tensors.last_hidden.resize(tensors.hidden.sizes());
  write_contiguous(context, who, values, tensors.out);
  write_contiguous<Number>(context, who, hidden, tensors.last_hidden);
  if (cell == nullptr) return;
  tensors.last_cell->resize(tensors.cell->sizes());
  write_contiguous<Number>(context, who, cell, *tensors.last_cell);
}

const char* name_of(RecurrentKind kind);  // "aten::lstm.input_out"

// One kind in a library's own arithmetic, made of a context; sums are of type `Sum`.
template <RecurrentKind kind, typename Sum, typename Arithmetic>
struct RecurrentRun {
  static void run(Context& context, const RecurrentTensors& tensors,
                  const RecurrentOptions& options) {
    const char* who = name_of(kind);
    const RecurrentGeometry geometry = recurrent_geometry(who, kind, tensors, options);
    run_recurrent<Sum>(context, who, geometry, Arithmetic(context), tensors);
  }
};

// The kernels of the family but for LSTM.
template <typename Run>
void simple_recurrent_out(Context& context, const Tensor& input, const Tensor& hidden,
                          Span<Tensor* const> weights, bool has_biases, int64_t layers,
                          double dropout, bool train, bool bidirectional, bool batch_first,
                          Tensor& out, Tensor& last_hidden) {
  Run::run(context, {input, hidden, nullptr, weights, out, last_hidden, nullptr},
           {has_biases, layers, dropout, train, bidirectional, batch_first});
}
template <typename Run>
void lstm_out(Context& context, const Tensor& input, Span<Tensor* const> states,
              Span<Tensor* const> weights, bool has_biases, int64_t layers, double dropout,
              bool train, bool bidirectional, bool batch_first, Tensor& out, Tensor& last_hidden,
              Tensor& last_cell) {
  ETLAB_CHECK(states.size() == 2, kInvalidArgument,
              "aten::lstm.input_out: expected two states, hidden and cell, got ", states.size());
  Run::run(context, {input, *states[0], states[1], weights, out, last_hidden, &last_cell},
           {has_biases, layers, dropout, train, bidirectional, batch_first});
}

}  // namespace etlab::util
