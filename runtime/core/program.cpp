#include "runtime/core/program.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/verify.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr uint32_t kDeepestNesting = 32;            // the schema nests eight levels
constexpr uint32_t kMostTables = uint32_t{1} << 22;

const schema::Program& verified_root(const FileLayout& layout) {
  flatbuffers::Verifier::Options options;
  options.max_depth = kDeepestNesting;
  options.max_tables = kMostTables;
  const Span<const uint8_t> bytes = layout.flatbuffer;
  ETLAB_CHECK(bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE, kInvalidProgram,
              "program: its FlatBuffer has ", bytes.size(), " bytes, more than the format allows");
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  ETLAB_CHECK(schema::VerifyProgramBuffer(verifier), kInvalidProgram,
              "program: its FlatBuffer is damaged (an offset leads out of bounds)");
  return *schema::GetProgram(bytes.data());
}

}  // namespace

std::unique_ptr<const Program> Program::load(
    std::unique_ptr<DataSource> source,
    std::vector<std::unique_ptr<const TensorFile>> external) {
  return std::unique_ptr<const Program>(new Program(std::move(source), std::move(external)));
}

Program::Program(std::unique_ptr<DataSource> source,
                 std::vector<std::unique_ptr<const TensorFile>> external)
    : source_(std::move(source)), external_(std::move(external)),
      layout_(read_file_header(source_->bytes())), root_(verified_root(layout_)),
      data_(root_, layout_, external_) {
  for (size_t i = 0; i < external_.size(); ++i) {
    for (size_t k = 0; k < i; ++k) external_[i]->require_other_names(*external_[k]);
  }
  verify_program(root_, data_, layout_.flatbuffer.size());
  for (const schema::ExecutionPlan* plan : *root_.execution_plan()) {
    method_names_.push_back(plan->name()->str());
  }
  shared_state_ = std::make_unique<SharedState>(root_);
}

void Program::drop_pages() const {
  source_->drop_pages();
  for (const auto& file : external_) file->drop_pages();
}

const schema::ExecutionPlan& Program::plan(std::string_view method) const {
  const auto position = std::find(method_names_.begin(), method_names_.end(), method);
  if (position == method_names_.end()) {
    std::string known;
    for (const std::string& name : method_names_) known += (known.empty() ? "" : ", ") + name;
    fail(ErrorKind::kNotFound, "program has no method '", method, "'; it has: ", known);
  }
  const auto index = static_cast<uint32_t>(position - method_names_.begin());
  return *root_.execution_plan()->Get(index);
}

}  // namespace etlab
