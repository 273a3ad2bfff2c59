#include "runtime/core/value.h"

#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kShownBytes = 32;

// The beginning of a text, without part of a character at its end (UTF-8 goes on with 10xxxxxx).
std::string shortened(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

std::string Value::describe() const {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(int64_t value) const { return concat("int ", value); }
    std::string operator()(double value) const { return concat("float ", value); }
    std::string operator()(bool value) const { return value ? "bool True" : "bool False"; }
    std::string operator()(const Tensor* value) const {
      return value == nullptr ? "None" : "Tensor " + etlab::describe(*value);
    }
    std::string operator()(const std::string& value) const {
      return "str '" + shortened(value) + "'";
    }
    std::string operator()(const IntList&) const { return "list of int"; }
    std::string operator()(const DoubleList&) const { return "list of float"; }
    std::string operator()(const BoolList&) const { return "list of bool"; }
    std::string operator()(const TensorList&) const { return "list of Tensor"; }
  };
  return std::visit(Visitor{}, storage_);
}

}  // namespace etlab
