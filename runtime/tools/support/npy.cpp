#include "runtime/tools/support/npy.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "runtime/core/data_source.h"
#include "runtime/core/error.h"
#include "runtime/core/strided_copy.h"

namespace etlab {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kPreamble = 64;  // the data of a version 1 file begins at a multiple of it

struct Descriptor {
  ScalarType type;
  const char* text;  // byte order, kind, bytes of an element
};
constexpr Descriptor kDescriptors[] = {
    {ScalarType::kByte, "|u1"},   {ScalarType::kChar, "|i1"},   {ScalarType::kShort, "<i2"},
    {ScalarType::kInt, "<i4"},    {ScalarType::kLong, "<i8"},   {ScalarType::kHalf, "<f2"},
    {ScalarType::kFloat, "<f4"},  {ScalarType::kDouble, "<f8"}, {ScalarType::kBool, "|b1"},
    {ScalarType::kUInt16, "<u2"}, {ScalarType::kUInt32, "<u4"}, {ScalarType::kUInt64, "<u8"},
    {ScalarType::kBFloat16, "<V2"}, {ScalarType::kComplexFloat, "<c8"},
    {ScalarType::kComplexDouble, "<c16"}};

// Reads the header, a Python dictionary of three entries.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  void parse() {
    take('{');
    while (!next_is('}')) {
      const std::string_view key = quoted();
      take(':');
      if (key == "descr") {
        descriptor = quoted();
      } else if (key == "fortran_order") {
        is_fortran = boolean();
      } else if (key == "shape") {
        shape = tuple();
      } else {
        refuse("an entry that is not descr, fortran_order or shape");
      }
      if (!next_is(',')) break;
      take(',');
    }
    take('}');
    skip_space();
    if (!rest_.empty()) refuse("text behind its dictionary");
    if (!descriptor || !is_fortran || !shape) refuse("no descr, fortran_order or shape");
  }

  std::optional<std::string_view> descriptor;
  std::optional<bool> is_fortran;
  std::optional<std::vector<int64_t>> shape;

 private:
  [[noreturn]] void refuse(const char* what) const {
    fail(ErrorKind::kInvalidArgument, name_, ": the header of this .npy file has ", what);
  }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool next_is(char symbol) {
    skip_space();
    return !rest_.empty() && rest_[0] == symbol;
  }
  void take(char symbol) {
    if (!next_is(symbol)) refuse("another form than NumPy gives it");
    rest_.remove_prefix(1);
  }
  std::string_view quoted() {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) refuse("no text where one belongs");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) refuse("a text without an end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.substr(0, word.size()) != word) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    refuse("a fortran_order that is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    take('(');
    while (!next_is(')')) {
      int64_t size = 0;
      const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (result.ec != std::errc() || size < 0) refuse("a size that is no number from 0 to 2^63");
      rest_.remove_prefix(static_cast<size_t>(result.ptr - rest_.data()));
      sizes.push_back(size);
      if (sizes.size() > kMaxRank) refuse("more than 16 dimensions");
      if (!next_is(',')) break;
      take(',');
    }
    take(')');
    return sizes;
  }

  std::string_view rest_;
  const std::string& name_;
};

ScalarType type_of(std::string_view descriptor, const std::string& name) {
  for (const Descriptor& known : kDescriptors) {
    const std::string_view text = known.text;
    if (descriptor.empty() || descriptor.substr(1) != text.substr(1)) continue;
    const bool has_order = element_size(known.type) > 1 && known.type != ScalarType::kBFloat16;
    if (descriptor[0] == '<' || (descriptor[0] == '|' && !has_order)) return known.type;
  }
  fail(ErrorKind::kNotSupported, name, ": elements of type '", descriptor.substr(0, 40),
       "' in this .npy file; expected little-endian elements of a dtype that programs have");
}

// Bytes of the elements; overflow is an error.
size_t bytes_of(Span<const int64_t> sizes, ScalarType type, const std::string& name) {
  size_t bytes = element_size(type);
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
  }
  for (const int64_t size : sizes) {
    ETLAB_CHECK(bytes <= std::numeric_limits<int64_t>::max() / static_cast<size_t>(size),
                kInvalidArgument, name, ": the array's sizes ", describe(sizes),
                " are more than any memory holds");
    bytes *= static_cast<size_t>(size);
  }
  return bytes;
}

std::vector<int64_t> strides_of(Span<const int64_t> sizes, bool is_empty, bool is_fortran) {
  std::vector<int64_t> strides(sizes.size(), 1);
  if (is_empty) return strides;  // the other sizes may have any product
  int64_t step = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t dim = is_fortran ? i : sizes.size() - 1 - i;
    strides[dim] = step;
    step *= sizes[dim];
  }
  return strides;
}

}  // namespace

OwnedTensor parse_npy(Span<const uint8_t> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  ETLAB_CHECK(text.size() >= 10 && text.substr(0, kMagic.size()) == kMagic, kInvalidArgument, name,
              ": this is no .npy file");
  const uint8_t version = file[6];
  ETLAB_CHECK(version >= 1 && version <= 3, kNotSupported, name, ": version ", version,
              " of the .npy format; expected 1, 2 or 3");
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  ETLAB_CHECK(text.size() >= begin, kInvalidArgument, name, ": the .npy file ends in its header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{file[8 + i]} << (8 * i);
  ETLAB_CHECK(length <= text.size() - begin, kInvalidArgument, name, ": the header of this .npy ",
              "file has ", length, " bytes, the file only ", text.size() - begin, " more");
  HeaderParser header(text.substr(begin, length), name);
  header.parse();

  const ScalarType type = type_of(*header.descriptor, name);
  const std::vector<int64_t>& sizes = *header.shape;
  const size_t bytes = bytes_of(sizes, type, name);
  const Span<const uint8_t> data = file.subspan(begin + length, text.size() - begin - length);
  ETLAB_CHECK(data.size() == bytes, kInvalidArgument, name, ": ", name_of(type),
              describe(Span<const int64_t>(sizes)), " has ", bytes, " bytes, the file holds ",
              data.size());
  if (type == ScalarType::kBool) {
    for (const uint8_t flag : data) {
      ETLAB_CHECK(flag <= 1, kInvalidArgument, name, ": a bool of value ", flag, ", expected 0 or 1");
    }
  }
  OwnedTensor result{AlignedBuffer(bytes, "input"), {}};
  if (bytes > 0) std::memcpy(result.memory.data(), data.data(), bytes);
  const std::vector<int64_t> strides = strides_of(sizes, bytes == 0, *header.is_fortran);
  result.tensor = Tensor::strided(type, sizes, strides, result.memory.data());
  return result;
}

OwnedTensor read_npy(const std::string& path) { return parse_npy(read_file(path)->bytes(), path); }

void write_npy(const std::string& path, const Tensor& tensor) {
  std::string shape;
  for (const int64_t size : tensor.sizes()) shape += concat(size, ",");
  const char* descriptor = "";
  for (const Descriptor& known : kDescriptors) {
    if (known.type == tensor.type()) descriptor = known.text;
  }
  std::string header =
      concat("{'descr': '", descriptor, "', 'fortran_order': False, 'shape': (", shape, "), }");
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kPreamble - unpadded % kPreamble) % kPreamble, ' ');
  header += '\n';

  AlignedBuffer memory(tensor.nbytes(), "output");
  Tensor plain(tensor.type(), tensor.sizes(), {}, memory.data(), memory.size());
  if (tensor.numel() > 0) copy_elements(tensor, plain);

  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const char preamble[] = {1, 0, static_cast<char>(header.size() & 0xff),
                           static_cast<char>(header.size() >> 8)};
  file.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
  file.write(preamble, sizeof(preamble));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(memory.data()),
             static_cast<std::streamsize>(tensor.nbytes()));
  file.close();
  ETLAB_CHECK(file.good(), kAccessFailed, "cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace etlab
