#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "runtime/core/backend.h"
#include "runtime/core/data_source.h"
#include "runtime/core/tensor.h"

namespace etlab {

// A loaded and verified .ptd file: bytes by name, some with the layout of a tensor.
class TensorFile : public NamedData {
 public:
  // Throws kInvalidProgram: damaged, foreign, truncated or newer.
  static std::unique_ptr<const TensorFile> load(std::unique_ptr<DataSource> source);

  // Throws kInvalidProgram when a name stands in both files.
  void require_other_names(const TensorFile& other) const;
  bool has(std::string_view key) const { return entries_.count(key) != 0; }
  Span<const uint8_t> get(std::string_view key) const override;
  // The bytes of the tensor `key`, which must have the dtype, sizes and dim order of `like`.
  Span<const uint8_t> tensor(std::string_view key, const Tensor& like) const;
  void drop_pages() const { source_->drop_pages(); }

 private:
  struct Entry {
    Span<const uint8_t> bytes;
    bool is_tensor = false;
    Tensor layout;
  };

  explicit TensorFile(std::unique_ptr<DataSource> source);
  const Entry& entry(std::string_view key) const;

  std::unique_ptr<DataSource> source_;
  std::map<std::string_view, Entry> entries_;  // names lie in the source
};

}  // namespace etlab
