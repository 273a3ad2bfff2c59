#include "runtime/tools/support/inputs.h"

#include <cstdlib>
#include <cstring>

#include "runtime/core/data_source.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {

bool is_npy(const std::string& path) {
  return path.size() >= 4 && path.compare(path.size() - 4, 4, ".npy") == 0;
}

OwnedTensor tensor_like(const ValueInfo& info) {
  OwnedTensor result{AlignedBuffer(info.nbytes, "input"), {}};
  result.tensor = Tensor(info.type, Span<const int64_t>(info.sizes), {}, result.memory.data(),
                         result.memory.size());
  return result;
}

OwnedTensor read_raw(const ValueInfo& info, const std::string& path) {
  const auto file = read_file(path);
  OwnedTensor result = tensor_like(info);
  ETLAB_CHECK(file->bytes().size() == info.nbytes, kInvalidArgument, path, ": a file that is no ",
              ".npy holds the bytes of ", name_of(info.type),
              describe(Span<const int64_t>(info.sizes)), ", ", info.nbytes, " of them; it has ",
              file->bytes().size());
  if (info.nbytes > 0) std::memcpy(result.memory.data(), file->bytes().data(), info.nbytes);
  return result;
}

// The whole of `word` as a number of its kind.
template <typename Number, typename Parse>
Value number(const std::string& word, const char* expected, const Parse& parse) {
  char* end = nullptr;
  const Number value = parse(word.c_str(), &end);
  ETLAB_CHECK(!word.empty() && end == word.c_str() + word.size(), kInvalidArgument, "expected ",
              expected, ", got '", word, "'");
  return Value(value);
}

Value parse_value(ValueKind kind, const std::string& word) {
  switch (kind) {
    case ValueKind::kNone:
      ETLAB_CHECK(word == "none", kInvalidArgument, "expected none, got '", word, "'");
      return Value();
    case ValueKind::kBool:
      ETLAB_CHECK(word == "true" || word == "false", kInvalidArgument,
                  "expected true or false, got '", word, "'");
      return Value(word == "true");
    case ValueKind::kInt:
      return number<int64_t>(word, "an integer", [](const char* text, char** end) {
        return static_cast<int64_t>(std::strtoll(text, end, 10));
      });
    case ValueKind::kDouble:
      return number<double>(word, "a number",
                            [](const char* text, char** end) { return std::strtod(text, end); });
    case ValueKind::kString:
      return Value(word);
    case ValueKind::kTensor:
    case ValueKind::kList:
      break;
  }
  fail(ErrorKind::kNotSupported, "inputs that are lists cannot be given on a command line");
}

void fill_random(const Tensor& tensor, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    switch (tensor.type()) {
      case ScalarType::kFloat: tensor.data<float>()[i] = normal(random); break;
      case ScalarType::kDouble: tensor.data<double>()[i] = normal(random); break;
      case ScalarType::kHalf: tensor.data<Half>()[i] = Half(normal(random)); break;
      case ScalarType::kBFloat16: tensor.data<BFloat16>()[i] = BFloat16(normal(random)); break;
      default: return;
    }
  }
}

}  // namespace

CallInputs::CallInputs(const MethodMeta& meta, const std::vector<std::string>& words) {
  ETLAB_CHECK(words.size() == meta.inputs.size(), kInvalidArgument, "method '", meta.name,
              "' takes ", meta.inputs.size(), " inputs, --inputs has ", words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const ValueInfo& info = meta.inputs[i];
    try {
      if (info.kind == ValueKind::kTensor) {
        add(is_npy(words[i]) ? read_npy(words[i]) : read_raw(info, words[i]));
      } else {
        values_.push_back(parse_value(info.kind, words[i]));
      }
    } catch (const Error& error) {
      fail(error.kind(), "input ", i, " of method '", meta.name, "': ", error.what());
    }
  }
}

CallInputs::CallInputs(const MethodMeta& meta, std::optional<unsigned> seed) {
  std::optional<std::mt19937> random;
  if (seed) random.emplace(*seed);
  for (size_t i = 0; i < meta.inputs.size(); ++i) {
    ETLAB_CHECK(meta.inputs[i].kind == ValueKind::kTensor, kInvalidArgument, "input ", i,
                " of method '", meta.name, "' is no tensor: give the values with --inputs");
    add(tensor_like(meta.inputs[i]));
    if (random) fill_random(tensors_.back().tensor, *random);
  }
}

void CallInputs::add(OwnedTensor tensor) {
  tensors_.push_back(std::move(tensor));
  values_.emplace_back(&tensors_.back().tensor);
}

}  // namespace etlab
