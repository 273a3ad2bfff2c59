#include "runtime/tools/support/outputs.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/core/error.h"
#include "runtime/tools/support/npy.h"

namespace etlab {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char symbol : text) {
    const auto code = static_cast<unsigned char>(symbol);
    if (symbol == '"' || symbol == '\\') {
      result += '\\';
      result += symbol;
    } else if (code < 0x20) {
      char escape[7];
      std::snprintf(escape, sizeof(escape), "\\u%04x", code);
      result += escape;
    } else {
      result += symbol;
    }
  }
  return result + "\"";
}

std::string real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string plain(const char* kind, const std::string& value) {
  return concat("{\"kind\": \"", kind, "\", \"value\": ", value, "}");
}

class Writer {
 public:
  explicit Writer(const std::string& folder) : folder_(folder) {}

  std::string write(const Value& value, const std::string& place) {
    if (const auto* number = value.get_if<int64_t>()) return plain("int", concat(*number));
    if (const auto* number = value.get_if<double>()) return plain("float", real(*number));
    if (const auto* flag = value.get_if<bool>()) return plain("bool", *flag ? "true" : "false");
    if (const auto* text = value.get_if<std::string>()) return plain("str", quoted(*text));
    if (const auto* tensor = value.get_if<Tensor*>()) return write(*tensor, place);
    if (const auto* list = value.get_if<IntList>()) {
      return write_list(list->items, place, [](int64_t item) { return Value(item); });
    }
    if (const auto* list = value.get_if<DoubleList>()) {
      return write_list(*list, place, [](double item) { return Value(item); });
    }
    if (const auto* list = value.get_if<BoolList>()) {
      return write_list(*list, place, [](uint8_t item) { return Value(item != 0); });
    }
    if (const auto* list = value.get_if<TensorList>()) {
      return write_list(*list, place, [](Tensor* item) { return Value(item); });
    }
    return "{\"kind\": \"none\"}";
  }

 private:
  std::string write(const Tensor* tensor, const std::string& place) {
    if (tensor == nullptr) return "{\"kind\": \"none\"}";
    ETLAB_CHECK(tensor->has_memory(), kInvalidProgram, "output tensor ", describe(*tensor),
                " is returned but nothing has written it");
    const std::string file = concat("output_", place, ".npy");
    write_npy((std::filesystem::path(folder_) / file).string(), *tensor);
    return concat("{\"kind\": \"tensor\", \"dtype\": \"", name_of(tensor->type()),
                  "\", \"file\": \"", file, "\"}");
  }

  template <typename Items, typename MakeValue>
  std::string write_list(const Items& items, const std::string& place, const MakeValue& make) {
    std::string text;
    for (size_t i = 0; i < items.size(); ++i) {
      text += concat(i == 0 ? "" : ", ", write(make(items[i]), concat(place, "_", i)));
    }
    return concat("{\"kind\": \"list\", \"items\": [", text, "]}");
  }

  const std::string& folder_;
};

}  // namespace

void write_outputs(const std::string& folder, Span<const Value* const> outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  ETLAB_CHECK(!error, kAccessFailed, "cannot make the folder ", folder, ": ", error.message());
  Writer writer(folder);
  std::string text = "[";
  for (size_t i = 0; i < outputs.size(); ++i) {
    text += concat(i == 0 ? "" : ",\n ", writer.write(*outputs[i], concat(i)));
  }
  errno = 0;
  const std::string path = (std::filesystem::path(folder) / "outputs.json").string();
  std::ofstream file(path, std::ios::trunc);
  file << text << "]\n";
  file.close();
  ETLAB_CHECK(file.good(), kAccessFailed, "cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace etlab
