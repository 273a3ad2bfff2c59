#include "runtime/tools/support/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iomanip>

#include "runtime/core/error.h"
#include "runtime/core/etdump.h"

namespace etlab {

namespace {

void check_written(std::ofstream& file, const std::string& path) {
  file.close();
  ETLAB_CHECK(file.good(), kAccessFailed, "cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace

void print_table(std::ostream& out, const Runs& runs, const MethodMeta& meta) {
  struct Row {
    int64_t calls = 0;
    int64_t total = 0;
    int64_t least = INT64_MAX;
  };
  std::vector<Row> rows(meta.instructions.size());
  int64_t total = 0;
  for (const auto& run : runs) {
    for (const RunTrace::Event& event : run->events()) {
      Row& row = rows.at(event.instruction);
      ++row.calls;
      row.total += event.end - event.begin;
      row.least = std::min(row.least, event.end - event.begin);
      total += event.end - event.begin;
    }
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

void write_csv(const std::string& path, const Runs& runs, const MethodMeta& meta) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << "run,instruction,kind,name,start_ns,duration_ns\n";
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const RunTrace::Event& event : runs[run]->events()) {
      const InstructionInfo& info = meta.instructions.at(event.instruction);
      std::string name = info.name;  // any text of a program
      std::replace_if(name.begin(), name.end(),
                      [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, '_');
      file << run << "," << event.instruction << "," << info.kind << "," << name << ","
           << event.begin << "," << event.end - event.begin << "\n";
    }
  }
  check_written(file, path);
}

void write_etdump(const std::string& path, const Runs& runs, const MethodMeta& meta,
                  const Method& method) {
  TracedMethod traced{&meta, method.load_times(), {}, {}};
  for (const auto& run : runs) traced.runs.push_back(run.get());
  const Etdump dump = write_etdump(Span<const TracedMethod>(&traced, 1));
  errno = 0;
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  file.write(reinterpret_cast<const char*>(dump.events.data()),
             static_cast<std::streamsize>(dump.events.size()));
  check_written(file, path);
}

}  // namespace etlab
