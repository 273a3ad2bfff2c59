#include <algorithm>
#include <set>
#include <string_view>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/program_data.h"
#include "runtime/core/text.h"
#include "runtime/core/verify.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr uint32_t kNewestVersion = 0;

void verify_segments(const schema::Program& program, const ProgramData& data) {
  for (size_t i = 0; i < count(program.segments()); ++i) data.segment(i);
  const schema::SubsegmentOffsets* constants = program.constant_segment();
  const bool has_constant_segment = constants != nullptr && count(constants->offsets()) > 0;
  ETLAB_CHECK(!has_constant_segment || count(program.constant_buffer()) == 0, kInvalidProgram,
              "program: constants stand both in the FlatBuffer and in a segment");
}

void verify_named_data(const schema::Program& program, const ProgramData& data,
                       WorkBudget& budget) {
  std::set<std::string_view> keys;
  for (uint32_t i = 0; i < count(program.named_data()); ++i) {
    const schema::NamedData& item = *program.named_data()->Get(i);
    const std::string_view key = checked_text(item.key(), "named data: key");
    budget.spend(key.size());
    ETLAB_CHECK(keys.insert(key).second, kInvalidProgram, "named data: '", key, "' stands twice");
    data.segment(item.segment_index());
  }
}

}  // namespace

WorkBudget::WorkBudget(size_t flatbuffer_bytes)
    : left_(std::max<size_t>(size_t{1} << 16, 4 * flatbuffer_bytes)) {}

void WorkBudget::spend(size_t items) {
  ETLAB_CHECK(items <= left_, kInvalidProgram,
              "the program's lists hold more items than the file has bytes for");
  left_ -= items;
}

void verify_program(const schema::Program& program, const ProgramData& data,
                    size_t flatbuffer_bytes) {
  ETLAB_CHECK(program.version() <= kNewestVersion, kInvalidProgram, "program: schema version ",
              program.version(), " is newer than the newest this runtime knows, ", kNewestVersion);
  ETLAB_CHECK(count(program.execution_plan()) > 0, kInvalidProgram, "program: it has no method");
  WorkBudget budget(flatbuffer_bytes);
  verify_segments(program, data);
  verify_named_data(program, data, budget);
  std::set<std::string_view> names;
  for (const schema::ExecutionPlan* plan : *program.execution_plan()) {
    const std::string_view name = checked_text(plan->name(), "method name");
    ETLAB_CHECK(names.insert(name).second, kInvalidProgram, "program: two methods are named '",
                name, "'");
    verify_plan(*plan, data, budget);
  }
}

}  // namespace etlab
