#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/arenas.h"
#include "runtime/core/data_source.h"
#include "runtime/core/program_data.h"
#include "runtime/core/schema.h"

namespace etlab {

// A loaded and fully verified .pte file. Nothing that runs changes it, except for the state that its
// methods share; methods refer to it and must not outlive it.
class Program {
 public:
  // Throws kInvalidProgram (damaged, foreign, truncated, newer) or kNotSupported.
  // `external` are .ptd files with tensors and named data that the program leaves to them; a name
  // must stand in one of them only.
  static std::unique_ptr<const Program> load(
      std::unique_ptr<DataSource> source,
      std::vector<std::unique_ptr<const TensorFile>> external = {});

  const std::vector<std::string>& method_names() const { return method_names_; }
  // Throws kNotFound listing the names there are.
  const schema::ExecutionPlan& plan(std::string_view method) const;
  const schema::Program& root() const { return root_; }
  const ProgramData& data() const { return data_; }
  // See DataSource: after delegates made weights of their own of what is in the files.
  void drop_pages() const;
  // Of the methods together; the one thing that runs change here.
  SharedState& shared_state() const { return *shared_state_; }

 private:
  Program(std::unique_ptr<DataSource> source,
          std::vector<std::unique_ptr<const TensorFile>> external);

  std::unique_ptr<DataSource> source_;
  std::vector<std::unique_ptr<const TensorFile>> external_;
  FileLayout layout_;
  const schema::Program& root_;
  ProgramData data_;
  std::vector<std::string> method_names_;  // in the file's order
  std::unique_ptr<SharedState> shared_state_;
};

}  // namespace etlab
