#include "runtime/core/tensor_file.h"

#include <vector>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/file_header.h"
#include "runtime/core/text.h"
#include "runtime/schema/flat_tensor_generated.h"

namespace etlab {

namespace {

constexpr uint32_t kNewestVersion = 0;

const schema::ptd::FlatTensor& verified_root(const FileLayout& layout) {
  const Span<const uint8_t> bytes = layout.flatbuffer;
  ETLAB_CHECK(bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE, kInvalidProgram,
              "tensor file: its FlatBuffer has ", bytes.size(), " bytes, more than allowed");
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  ETLAB_CHECK(schema::ptd::VerifyFlatTensorBuffer(verifier), kInvalidProgram,
              "tensor file: its FlatBuffer is damaged (an offset leads out of bounds)");
  return *schema::ptd::GetFlatTensor(bytes.data());
}

Span<const uint8_t> segment_of(const schema::ptd::FlatTensor& root, const FileLayout& layout,
                               uint32_t index) {
  ETLAB_CHECK(index < count(root.segments()), kInvalidProgram, "tensor file: segment ", index,
              " is referred to, the file has ", count(root.segments()));
  const schema::ptd::DataSegment& segment = *root.segments()->Get(index);
  const size_t available = layout.segments.size();
  ETLAB_CHECK(segment.offset() <= available && segment.size() <= available - segment.offset(),
              kInvalidProgram, "tensor file: segment ", index,
              " reaches past the end of the file (truncated?)");
  return layout.segments.subspan(static_cast<size_t>(segment.offset()),
                                 static_cast<size_t>(segment.size()));
}

// The tensor that a layout describes, without memory.
Tensor tensor_of(const schema::ptd::TensorLayout& layout, std::string_view key) {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> order;
  for (uint32_t i = 0; i < count(layout.sizes()); ++i) sizes.push_back(layout.sizes()->Get(i));
  for (uint32_t i = 0; i < count(layout.dim_order()); ++i) {
    order.push_back(layout.dim_order()->Get(i));
  }
  ETLAB_CHECK(order.size() == sizes.size(), kInvalidProgram, "tensor file, '", key,
              "': its dim order has ", order.size(), " entries for rank ", sizes.size());
  try {
    return Tensor(static_cast<ScalarType>(layout.scalar_type()), {sizes.data(), sizes.size()},
                  {order.data(), order.size()}, nullptr, 0);
  } catch (const Error& error) {
    fail(ErrorKind::kInvalidProgram, "tensor file, '", key, "': ", error.what());
  }
}

}  // namespace

std::unique_ptr<const TensorFile> TensorFile::load(std::unique_ptr<DataSource> source) {
  return std::unique_ptr<const TensorFile>(new TensorFile(std::move(source)));
}

TensorFile::TensorFile(std::unique_ptr<DataSource> source) : source_(std::move(source)) {
  const FileLayout layout = read_tensor_file_header(source_->bytes());
  const schema::ptd::FlatTensor& root = verified_root(layout);
  ETLAB_CHECK(root.version() <= kNewestVersion, kInvalidProgram, "tensor file: schema version ",
              root.version(), " is newer than the newest this runtime knows, ", kNewestVersion);
  for (uint32_t i = 0; i < count(root.named_data()); ++i) {
    const schema::ptd::NamedData& item = *root.named_data()->Get(i);
    const std::string_view key = checked_text(item.key(), "tensor file: key");
    Entry entry;
    entry.bytes = segment_of(root, layout, item.segment_index());
    if (item.tensor_layout() != nullptr) {
      entry.is_tensor = true;
      entry.layout = tensor_of(*item.tensor_layout(), key);
      ETLAB_CHECK(entry.layout.nbytes() <= entry.bytes.size(), kInvalidProgram, "tensor file, '",
                  key, "': ", describe(entry.layout), " needs ", entry.layout.nbytes(),
                  " bytes, its segment has ", entry.bytes.size());
    }
    ETLAB_CHECK(entries_.emplace(key, entry).second, kInvalidProgram, "tensor file: '", key,
                "' stands twice");
  }
}

void TensorFile::require_other_names(const TensorFile& other) const {
  for (const auto& [key, entry] : entries_) {
    ETLAB_CHECK(!other.has(key), kInvalidProgram, "tensor files: '", key, "' stands in two of them");
  }
}

const TensorFile::Entry& TensorFile::entry(std::string_view key) const {
  const auto position = entries_.find(key);
  ETLAB_CHECK(position != entries_.end(), kNotFound, "tensor file: nothing is named '", key, "'");
  return position->second;
}

Span<const uint8_t> TensorFile::get(std::string_view key) const { return entry(key).bytes; }

Span<const uint8_t> TensorFile::tensor(std::string_view key, const Tensor& like) const {
  const Entry& found = entry(key);
  const bool is_same = found.is_tensor && found.layout.type() == like.type() &&
                       equal(found.layout.sizes(), like.sizes()) &&
                       equal(found.layout.dim_order(), like.dim_order());
  ETLAB_CHECK(is_same, kInvalidProgram, "external tensor '", key, "': the program expects ",
              describe(like), ", the tensor file has ",
              found.is_tensor ? describe(found.layout) : "bytes that are no tensor",
              found.is_tensor && equal(found.layout.sizes(), like.sizes()) ? " (another dim order)"
                                                                            : "");
  const auto address = reinterpret_cast<uintptr_t>(found.bytes.data());
  ETLAB_CHECK(address % element_size(like.type()) == 0, kInvalidProgram, "external tensor '", key,
              "' does not begin at a multiple of its element size");
  return found.bytes.subspan(0, like.nbytes());
}

}  // namespace etlab
