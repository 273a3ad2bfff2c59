#include "runtime/tools/support/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iomanip>

#include "runtime/core/error.h"

namespace etlab {

void Profile::on_instruction(size_t instruction, int64_t begin, int64_t end, Span<Value* const>) {
  events_.push_back({runs_ - 1, instruction, begin, end});
}

void Profile::print_table(std::ostream& out, const MethodMeta& meta) const {
  struct Row {
    int64_t calls = 0;
    int64_t total = 0;
    int64_t least = INT64_MAX;
  };
  std::vector<Row> rows(meta.instructions.size());
  int64_t total = 0;
  for (const Event& event : events_) {
    Row& row = rows.at(event.instruction);
    ++row.calls;
    row.total += event.end - event.begin;
    row.least = std::min(row.least, event.end - event.begin);
    total += event.end - event.begin;
  }
  const auto flags = out.flags();
  out << std::fixed << std::setprecision(1) << "instruction  calls     mean us    least us  share  name\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.calls == 0) continue;
    const InstructionInfo& info = meta.instructions[i];
    const double mean = static_cast<double>(row.total) / static_cast<double>(row.calls);
    const double share = 100.0 * static_cast<double>(row.total) / static_cast<double>(std::max<int64_t>(total, 1));
    out << std::setw(11) << i << std::setw(7) << row.calls << std::setw(12) << mean / 1e3
        << std::setw(12) << static_cast<double>(row.least) / 1e3 << std::setw(6) << share << "%  "
        << (info.name.empty() ? info.kind : info.name) << "\n";
  }
  out.flags(flags);
}

void Profile::write_csv(const std::string& path, const MethodMeta& meta) const {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << "run,instruction,kind,name,start_ns,duration_ns\n";
  for (const Event& event : events_) {
    const InstructionInfo& info = meta.instructions.at(event.instruction);
    std::string name = info.name;  // any text of a program
    std::replace_if(name.begin(), name.end(),
                    [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, '_');
    file << event.run << "," << event.instruction << "," << info.kind << "," << name << ","
         << event.begin << "," << event.end - event.begin << "\n";
  }
  file.close();
  ETLAB_CHECK(file.good(), kAccessFailed, "cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace etlab
