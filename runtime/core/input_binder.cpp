#include "runtime/core/input_binder.h"

#include <cmath>

#include "runtime/core/alias_analysis.h"
#include "runtime/core/error.h"
#include "runtime/core/heap_bytes.h"
#include "runtime/core/strided_copy.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr double kTracedTolerance = 1e-4;  // of a float that the program was traced with

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.raw()) % element_size(tensor.type()) == 0;
}

}  // namespace

InputBinder::InputBinder(const schema::ExecutionPlan& plan, ValueTable& values)
    : values_(values), method_(plan.name()->str()) {
  if (plan.inputs() == nullptr) return;
  const std::vector<bool> aliasable = aliasable_inputs(plan);
  const std::vector<bool> updated = updated_inputs(plan);
  for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
    Slot slot{static_cast<size_t>(plan.inputs()->Get(i)), aliasable[i], updated[i], {}, {}};
    if (Tensor** tensor = values_.at(slot.index).get_if<Tensor*>()) {
      slot.bounds.assign((*tensor)->sizes().begin(), (*tensor)->sizes().end());
    }
    slots_.push_back(std::move(slot));
  }
}

// Says which input it was that `check` refused.
template <typename Check>
void InputBinder::at_input(size_t input, const Check& check) const {
  try {
    check();
  } catch (const Error& error) {
    fail(error.kind(), "method '", method_, "', input ", input, ": ", error.what());
  }
}

void InputBinder::bind(Span<const Value> inputs) {
  ETLAB_CHECK(inputs.size() == slots_.size(), kInvalidArgument, "method '", method_,
              "': expected ", slots_.size(), slots_.size() == 1 ? " input" : " inputs", ", got ",
              inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    at_input(i, [&] { bind(slots_[i], inputs[i]); });
  }
}

void InputBinder::bind(Slot& slot, const Value& input) {
  Value& value = values_.at(slot.index);
  Tensor** target = value.get_if<Tensor*>();
  if (target == nullptr) return check_number(input, value);
  Tensor* const* given = input.get_if<Tensor*>();
  ETLAB_CHECK(given != nullptr && *given != nullptr, kInvalidArgument, "expected Tensor ",
              describe(**target), ", got ", input.describe());
  bind_tensor(slot, **given, **target);
}

void InputBinder::give_back(Span<const Value> inputs) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is_updated) continue;
    Tensor* const* given = inputs[i].get_if<Tensor*>();
    Tensor* const* updated = values_.at(slots_[i].index).get_if<Tensor*>();
    if (given == nullptr || updated == nullptr) continue;
    at_input(i, [&] {
      ETLAB_CHECK(equal((*given)->sizes(), (*updated)->sizes()), kInvalidArgument,
                  "the program updates it in place and made ", describe(**updated), " of ",
                  describe(**given));
      copy_elements(**updated, **given);
    });
  }
}

void InputBinder::bind_tensor(Slot& slot, const Tensor& given, Tensor& target) {
  check_shape(slot.bounds, given, target);
  ETLAB_CHECK(!target.is_read_only(), kInvalidArgument,
              "the program declares a constant as its input");
  Tensor shaped(target.type(), given.sizes(), target.dim_order(), nullptr, 0, target.dynamism());
  if (slot.can_alias && is_aligned(given) && shaped.has_same_layout(given)) {
    shaped.set_data(given.raw(), given.nbytes(), /*is_read_only=*/true);
    target = shaped;
    return;
  }
  if (target.raw() != nullptr) {
    shaped.set_data_of(target);
  } else {
    if (slot.copy.size() < given.nbytes()) slot.copy = AlignedBuffer(given.nbytes(), "input copy");
    shaped.set_data(slot.copy.data(), slot.copy.size());
  }
  target = shaped;
  copy_elements(given, target);
}

void InputBinder::check_shape(const std::vector<int64_t>& bounds, const Tensor& given,
                              const Tensor& target) {
  const bool is_static = target.dynamism() == ShapeDynamism::kStatic;
  const std::string expected = concat(is_static ? "" : "up to ", name_of(target.type()),
                                      describe(Span<const int64_t>(bounds)));
  ETLAB_CHECK(given.type() == target.type(), kInvalidArgument, "expected dtype ",
              name_of(target.type()), " (", expected, "), got ", describe(given),
              "; convert it with .to(torch.", name_of(target.type()), ")");
  ETLAB_CHECK(given.sizes().size() == bounds.size(), kInvalidArgument, "expected ", bounds.size(),
              " dimensions (", expected, "), got ", describe(given));
  for (size_t i = 0; i < bounds.size(); ++i) {
    const int64_t size = given.sizes()[i];
    ETLAB_CHECK(!is_static || size == bounds[i], kInvalidArgument, "expected size ", bounds[i],
                " in dimension ", i, " (", expected, "), got ", describe(given));
    ETLAB_CHECK(size <= bounds[i], kInvalidArgument, "size ", size, " of dimension ", i,
                " is over the bound of ", bounds[i], " given at export (", expected, "), got ",
                describe(given));
  }
}

// A number is part of the traced program: only the value that it was exported with is right.
void InputBinder::check_number(const Value& given, const Value& traced) {
  bool is_same = given.is_none() && traced.is_none();
  if (const auto* expected = traced.get_if<double>()) {
    const auto* real = given.get_if<double>();
    const auto* integer = given.get_if<int64_t>();
    const double number = real != nullptr ? *real : integer != nullptr ? static_cast<double>(*integer) : 0;
    is_same = (real != nullptr || integer != nullptr) &&
              (std::fabs(number - *expected) <= kTracedTolerance || number == *expected ||
               (std::isnan(number) && std::isnan(*expected)));
  } else if (const auto* expected = traced.get_if<int64_t>()) {
    const auto* integer = given.get_if<int64_t>();
    is_same = integer != nullptr && *integer == *expected;
  } else if (const auto* expected = traced.get_if<bool>()) {
    const auto* flag = given.get_if<bool>();
    is_same = flag != nullptr && *flag == *expected;
  } else if (const auto* expected = traced.get_if<std::string>()) {
    const auto* text = given.get_if<std::string>();
    is_same = text != nullptr && *text == *expected;
  } else {
    ETLAB_CHECK(traced.is_none(), kInvalidArgument, "the program expects a ", traced.describe(),
                ", which is not supported");
  }
  ETLAB_CHECK(is_same, kInvalidArgument, "the program was exported with ", traced.describe(),
              " here and takes no other value, got ", given.describe());
}

void InputBinder::add_memory(MethodMemory& memory) const {
  memory.structures += heap_bytes(method_) + heap_bytes(slots_);
  for (const Slot& slot : slots_) {
    memory.structures += heap_bytes(slot.bounds);
    memory.inputs += slot.copy.size();
    memory.alignment += slot.copy.alignment_bytes();
  }
}

}  // namespace etlab
