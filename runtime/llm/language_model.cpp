#include "runtime/llm/language_model.h"

#include <algorithm>
#include <optional>

#include "runtime/core/error.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"

namespace etlab {

namespace {

constexpr const char* kContract =
    "; a language model is a method forward(tokens int64[1, N], input_pos int64[1]) -> logits[1, V] "
    "or [1, N, V], as etlab.llm.export_llm makes it";

bool has(const Program& program, std::string_view method) {
  const std::vector<std::string>& names = program.method_names();
  return std::find(names.begin(), names.end(), method) != names.end();
}

template <typename T>
void append(const Tensor& tensor, std::vector<int64_t>& numbers) {
  numbers.insert(numbers.end(), tensor.data<T>(), tensor.data<T>() + tensor.numel());
}

void append(const std::string& method, const Value& value, std::vector<int64_t>& numbers) {
  if (const auto* number = value.get_if<int64_t>()) return numbers.push_back(*number);
  if (const auto* flag = value.get_if<bool>()) return numbers.push_back(*flag ? 1 : 0);
  if (const auto* list = value.get_if<IntList>()) {
    numbers.insert(numbers.end(), list->items.begin(), list->items.end());
    return;
  }
  Tensor* const* tensor = value.get_if<Tensor*>();
  const bool has_numbers = tensor != nullptr && *tensor != nullptr && (*tensor)->has_memory() &&
                           (*tensor)->is_contiguous();
  if (has_numbers && (*tensor)->type() == ScalarType::kLong) return append<int64_t>(**tensor, numbers);
  if (has_numbers && (*tensor)->type() == ScalarType::kInt) return append<int32_t>(**tensor, numbers);
  fail(ErrorKind::kInvalidProgram, "method '", method, "' gives ", value.describe(),
       ", expected whole numbers");
}

// What a method without inputs answers; nothing when there is no such method.
std::optional<std::vector<int64_t>> numbers_of(const Program& program, const std::string& name) {
  if (!has(program, name)) return std::nullopt;
  const std::unique_ptr<Method> method = Method::load(program, name);
  ETLAB_CHECK(method->input_count() == 0, kInvalidProgram, "method '", name, "' has ",
              method->input_count(), " inputs, expected a constant");
  std::vector<int64_t> numbers;
  method->run({}, {}, [&](Span<const Value* const> outputs) {
    for (const Value* output : outputs) append(name, *output, numbers);
  });
  return numbers;
}

std::optional<int64_t> number_of(const Program& program, const std::string& name) {
  const auto numbers = numbers_of(program, name);
  if (!numbers) return std::nullopt;
  ETLAB_CHECK(numbers->size() == 1, kInvalidProgram, "method '", name, "' gives ", numbers->size(),
              " numbers, expected one");
  return numbers->front();
}

// "float32[1, 4], int" …: what a method takes or returns.
std::string describe(const std::vector<ValueInfo>& values) {
  std::string text;
  for (const ValueInfo& value : values) {
    const bool is_tensor = value.kind == ValueKind::kTensor;
    text += (text.empty() ? "" : ", ");
    text += is_tensor ? concat(name_of(value.type), describe(Span<const int64_t>(value.sizes)))
                      : std::string("no tensor");
  }
  return text.empty() ? "nothing" : text;
}

bool is_tokens(const ValueInfo& value) {
  return value.kind == ValueKind::kTensor && value.type == ScalarType::kLong &&
         value.sizes.size() == 2 && value.sizes[0] == 1 && value.sizes[1] >= 1;
}

bool is_position(const ValueInfo& value) {
  return value.kind == ValueKind::kTensor && value.type == ScalarType::kLong &&
         value.sizes.size() == 1 && value.sizes[0] == 1;
}

bool is_logits(const ValueInfo& value) {
  const bool is_known = value.kind == ValueKind::kTensor && is_floating(value.type) &&
                        value.type != ScalarType::kDouble;
  const size_t rank = value.sizes.size();
  return is_known && (rank == 2 || rank == 3) && value.sizes[0] == 1 && value.sizes[rank - 1] >= 1;
}

MethodMeta checked_method(const Program& program, const std::string& name) {
  MethodMeta meta = method_meta(program, name);
  const std::vector<ValueInfo>& inputs = meta.inputs;
  const bool takes_tokens = (inputs.size() == 1 || inputs.size() == 2) && is_tokens(inputs[0]) &&
                            (inputs.size() == 1 || is_position(inputs[1]));
  ETLAB_CHECK(takes_tokens, kInvalidProgram, "method '", name, "' takes ", describe(inputs), kContract);
  // The official exporter returns updated buffers before the result: logits are the last output.
  const bool gives_logits = !meta.outputs.empty() && is_logits(meta.outputs.back());
  ETLAB_CHECK(gives_logits, kInvalidProgram, "method '", name, "' returns ", describe(meta.outputs),
              ", expected logits of float32, float16 or bfloat16", kContract);
  return meta;
}

void check_context(const LanguageModel& model) {
  ETLAB_CHECK(model.max_context >= 1, kInvalidProgram,
              "the program does not say how many tokens its context holds: it has no method "
              "get_max_context_len or get_max_seq_len that gives a number from 1; export it with "
              "constant_methods={\"get_max_context_len\": …}");
}

// Exporters write the special tokens of a family, whatever the vocabulary of a model of it is: those
// outside of it can never come.
std::vector<int64_t> tokens_of(const Program& program, const std::string& name, int64_t vocabulary) {
  std::vector<int64_t> tokens = numbers_of(program, name).value_or(std::vector<int64_t>());
  const auto is_outside = [&](int64_t token) { return token < 0 || token >= vocabulary; };
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(), is_outside), tokens.end());
  return tokens;
}

}  // namespace

LanguageModel language_model_of(const Program& program) {
  LanguageModel model;
  const bool has_two = !has(program, "forward") && has(program, "prefill") && has(program, "decode");
  model.prefill_method = has_two ? "prefill" : "forward";
  model.decode_method = has_two ? "decode" : "forward";
  if (!has(program, model.decode_method)) {
    std::string names;
    for (const std::string& name : program.method_names()) names += (names.empty() ? "" : ", ") + name;
    fail(ErrorKind::kInvalidProgram, "the program has no method 'forward' (it has: ", names, ")",
         kContract);
  }
  const MethodMeta prefill = checked_method(program, model.prefill_method);
  const MethodMeta decode = checked_method(program, model.decode_method);
  model.uses_cache = decode.inputs.size() == 2;
  ETLAB_CHECK(prefill.inputs.size() == decode.inputs.size(), kInvalidProgram,
              "method 'prefill' takes ", prefill.inputs.size(), " inputs and 'decode' ",
              decode.inputs.size(), kContract);
  // Fused rings write by indices; others say that they are rings.
  const std::string kRingOperator = "llama::update_cache_with_indices.out";
  const std::vector<std::string>& operators = decode.operators;
  model.can_step_back =
      std::find(operators.begin(), operators.end(), kRingOperator) == operators.end() &&
      number_of(program, "has_ring_cache").value_or(0) == 0;
  model.prefill_length = prefill.inputs[0].sizes[1];
  model.is_prefill_fixed = !prefill.inputs[0].is_dynamic;
  const bool can_decode = decode.inputs[0].is_dynamic || decode.inputs[0].sizes[1] == 1;
  ETLAB_CHECK(can_decode, kInvalidProgram, "method '", model.decode_method, "' takes ",
              decode.inputs[0].sizes[1], " tokens at once, never one; export it for one token, or "
              "with a dynamic number of them");
  ETLAB_CHECK(model.uses_cache || !model.is_prefill_fixed, kInvalidProgram, "method 'forward' takes ",
              describe(decode.inputs), " and no position: without a cache it needs a dynamic number "
              "of tokens", kContract);
  model.vocabulary = decode.outputs.back().sizes.back();
  model.max_context = number_of(program, "get_max_context_len")
                          .value_or(number_of(program, "get_max_seq_len").value_or(0));
  if (!model.uses_cache) model.max_context = model.prefill_length;
  check_context(model);
  model.bos = tokens_of(program, "get_bos_id", model.vocabulary);
  model.eos = tokens_of(program, "get_eos_ids", model.vocabulary);
  return model;
}

}  // namespace etlab
